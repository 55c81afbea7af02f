# SPDX-License-Identifier: Apache-2.0
"""Tensors of different lengths joined on their first axis."""

import torch
from exchange import all_gather, all_gather_rows


def run(inputs, scalars, params, team):
    x = inputs["x"]
    rows = torch.empty(team.world, dtype=torch.int64, device=x.device)
    all_gather(rows, torch.full((1,), x.shape[0], device=x.device))
    rows = rows.tolist()
    y = x.new_empty(sum(rows), *x.shape[1:])
    if len(set(rows)) == 1:
        all_gather(y, x)
    else:
        all_gather_rows(list(y.split(rows)), x)
    return {"y": y}
