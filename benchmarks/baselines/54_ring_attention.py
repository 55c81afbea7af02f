# SPDX-License-Identifier: Apache-2.0
"""Causal attention with the tokens over the ranks."""

import context
from exchange import Together, all_gather


def run(inputs, scalars, params, team):
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    all_k, all_v = (t.new_empty(team.world, *t.shape) for t in (k, v))
    with Together(team.device):
        all_gather(all_k.flatten(0, 1), k)
        all_gather(all_v.flatten(0, 1), v)
    k, v = (context.joined(t, team.rank + 1) for t in (all_k, all_v))
    return {"out": context.causal(q, k, v, scalars["softmax_scale"])}
