# SPDX-License-Identifier: Apache-2.0
"""Sum of one matrix over all ranks, on one of them."""

import torch.distributed as dist


def run(inputs, scalars, params, team):
    x, dst = inputs["x"], scalars["dst"]
    root = team.rank == dst
    # NCCL writes on the root alone.
    y = x.clone() if root or not x.is_cuda else x
    dist.reduce(y, dst)
    return {"y": y if root else None}
