# SPDX-License-Identifier: Apache-2.0
"""Convolution of row shards: the rows at the borders travel while the others are copied between them."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True


def run(inputs, scalars, params, team):
    x, pad = inputs["x"], scalars["padding"]
    batch, channels, height, width = x.shape
    steps, arriving = [], []
    padded = x.new_empty(batch, channels, height + 2 * pad, width)
    for peer, own, halo in ((team.rank - 1, x[:, :, :pad], padded[:, :, :pad]), (team.rank + 1, x[:, :, -pad:], padded[:, :, -pad:])):
        if 0 <= peer < team.world:
            received = torch.empty(own.shape, dtype=x.dtype, device=x.device)
            arriving.append((halo, received))
            steps += [dist.P2POp(dist.isend, own.contiguous(), peer), dist.P2POp(dist.irecv, received, peer)]
        else:
            halo.zero_()
    works = dist.batch_isend_irecv(steps)
    padded[:, :, pad:-pad] = x
    for work in works:
        work.wait()
    for halo, received in arriving:
        halo.copy_(received)
    return {"y": F.conv2d(padded, inputs["weight"], inputs["bias"], scalars["stride"], (0, pad))}
