# SPDX-License-Identifier: Apache-2.0
"""Adam on the own shard, then the new parameters of all ranks."""

import torch
import training
from exchange import all_gather


def run(inputs, scalars, params, team):
    w, m, v = torch.stack((inputs["master_shard"], inputs["exp_avg"], inputs["exp_avg_sq"]))
    training.adam_(w, inputs["grad_shard"], m, v, scalars)
    gathered = w.new_empty(team.world * w.numel())
    all_gather(gathered, w)
    return {"gathered": gathered}
