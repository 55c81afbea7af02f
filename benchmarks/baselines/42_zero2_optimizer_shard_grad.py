# SPDX-License-Identifier: Apache-2.0
"""A step of training with sharded optimizer and gradient."""

import torch
import training
from exchange import all_gather, reduce_scatter_mean


def run(inputs, scalars, params, team):
    shapes = training.shapes_of(inputs, params)
    p, arrived = training.from_first([inputs[name] for name in training.NAMES], team, async_op=True)
    m, v = torch.stack((inputs["exp_avg_part"], inputs["exp_avg_sq_part"]))
    arrived.wait()
    own = p.chunk(team.world)[team.rank]
    g = training.gradients(inputs, p, shapes)
    mean = torch.empty_like(own)
    reduce_scatter_mean(mean, g)
    training.adam_(own, mean, m, v, scalars)
    all_gather(p, own)
    outputs = {f"{name}_new": view for name, view in zip(training.NAMES, training.views(p, shapes))}
    return outputs | {"m_part": m, "v_part": v}
