# SPDX-License-Identifier: Apache-2.0
"""One axis is cut, another joined."""

import torch
from exchange import all_to_all


def run(inputs, scalars, params, team):
    x, cut, joined = inputs["x"], scalars["scatter_dim"], scalars["gather_dim"]
    sent = x.unflatten(cut, (team.world, -1)).movedim(cut, 0).contiguous()
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    return {"y": received.movedim(0, joined).flatten(joined, joined + 1).contiguous()}
