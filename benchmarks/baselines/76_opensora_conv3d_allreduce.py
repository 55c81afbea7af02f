# SPDX-License-Identifier: Apache-2.0
"""Convolution over the own input channels, summed over ranks, then the bias."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True


def run(inputs, scalars, params, team):
    y = F.conv3d(inputs["x"], inputs["weight"], None, scalars["stride"], scalars["padding"], scalars["dilation"], scalars["conv_groups"])
    dist.all_reduce(y)
    return {"y": y.add_(inputs["bias"].view(-1, 1, 1, 1))}
