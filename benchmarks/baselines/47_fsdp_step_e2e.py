# SPDX-License-Identifier: Apache-2.0
"""A step of training with sharded parameters, gradients and moments."""

import torch
import training
from exchange import all_gather, reduce_scatter_mean


def run(inputs, scalars, params, team):
    own = inputs["flat_param_shard"]
    flat = own.new_empty(team.world * own.numel())
    all_gather(flat, own)
    g = training.gradients(inputs, flat, training.shapes_of(inputs, params))
    theta, m, v = torch.stack((own, inputs["exp_avg_shard"], inputs["exp_avg_sq_shard"]))
    mean = torch.empty_like(own)
    reduce_scatter_mean(mean, g)
    training.adam_(theta, mean, m, v, scalars)
    return {"theta": theta, "m": m, "v": v}
