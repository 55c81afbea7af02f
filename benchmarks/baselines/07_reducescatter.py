# SPDX-License-Identifier: Apache-2.0
"""Sum over all ranks, a block of rows for each."""

import torch.distributed as dist


def run(inputs, scalars, params, team):
    x = inputs["x"]
    y = x.new_empty(x.shape[0] // team.world, x.shape[1])
    dist.reduce_scatter_tensor(y, x)
    return {"y": y}
