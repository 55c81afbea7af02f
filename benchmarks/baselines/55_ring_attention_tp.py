# SPDX-License-Identifier: Apache-2.0
"""An attention block, the heads over pairs of ranks, the tokens over the pairs."""

import context
import torch.distributed as dist


def run(inputs, scalars, params, team):
    size = params["TP"]
    pairs = team.world // size
    tp = team.group_of([[c * size + t for t in range(size)] for c in range(pairs)])
    cp = team.group_of([[c * size + t for c in range(pairs)] for t in range(size)])
    out = context.attention(inputs["hidden_states"], inputs["w_qkv"], inputs["w_o"], scalars["num_heads"] // size,
                            scalars["softmax_scale"], cp, pairs, team.rank // size)
    dist.all_reduce(out, group=tp)
    return {"out": out}
