# SPDX-License-Identifier: Apache-2.0
"""A step of data-parallel training: parameters and moments from rank 0, gradients averaged, Adam."""

import training
from exchange import all_reduce_mean


def run(inputs, scalars, params, team):
    shapes = training.shapes_of(inputs, params)
    p = training.from_first([inputs[name] for name in training.NAMES], team)
    # The moments travel during the passes of the network.
    moments = [inputs[f"{kind}_{name}"] for kind in ("exp_avg", "exp_avg_sq") for name in training.NAMES]
    moments, arrived = training.from_first(moments, team, async_op=True)
    g = training.gradients(inputs, p, shapes)
    arrived.wait()
    all_reduce_mean(g)
    m, v = moments.chunk(2)
    training.adam_(p, g, m, v, scalars)
    outputs = {}
    for flat, name in ((p, "{}_new"), (m, "m_{}"), (v, "v_{}")):
        outputs.update((name.format(part), view) for part, view in zip(training.NAMES, training.views(flat, shapes)))
    return outputs
