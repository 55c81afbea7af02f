# SPDX-License-Identifier: Apache-2.0
"""Tensors joined on their first axis."""

from exchange import all_gather


def run(inputs, scalars, params, team):
    x = inputs["x"]
    y = x.new_empty(team.world * x.shape[0], *x.shape[1:])
    all_gather(y, x)
    return {"y": y}
