# SPDX-License-Identifier: Apache-2.0
"""Spherical convolution: every output point is a weighted bag of the field's points, all channels of a batch side by side."""

import torch
import torch.nn.functional as F

from exchange import all_to_all, reduce_scatter


def run(inputs, scalars, params, team):
    x, weight = inputs["x"], inputs["weight"]
    kernel, row, column = inputs["psi_indices"]
    around, kernels, lons = params["AZ"], weight.shape[2], scalars["nlon_in"]
    polar = team.world // around
    batch, channels, lats, part = x.shape
    all_lats, own_channels = lats * polar, channels // around
    azimuth_group = team.group_of([[p * around + a for a in range(around)] for p in range(polar)])
    polar_group = team.group_of([[p * around + a for p in range(polar)] for a in range(around)])

    sent = x.view(batch, around, own_channels, lats, part).permute(1, 3, 4, 0, 2).contiguous()
    field = torch.empty_like(sent)
    work = all_to_all(field, sent, group=azimuth_group, async_op=True)
    longitude = (column % lons + torch.arange(lons, device=x.device)[:, None]) % lons
    points = (longitude // part * lats + column // lons) * part + longitude % part
    line = kernel * all_lats + row
    first = torch.searchsorted(line, torch.arange(kernels * all_lats, device=x.device))
    offsets = first + torch.arange(0, points.numel(), len(column), device=x.device)[:, None]
    strengths = inputs["psi_values"].expand(lons, -1).reshape(-1)
    work.wait()
    mixed = F.embedding_bag(points.view(-1), field.view(-1, batch * own_channels), offsets.view(-1), mode="sum",
                            per_sample_weights=strengths)
    if polar > 1:
        parts = mixed.view(lons, kernels, polar, -1).permute(2, 0, 1, 3).contiguous().view(-1)
        mixed = parts.new_empty(len(parts) // polar)
        reduce_scatter(mixed, parts, group=polar_group)
    received = torch.empty(around, part, kernels, lats, batch, own_channels, device=x.device)
    all_to_all(received, mixed, group=azimuth_group)
    features = received.permute(4, 0, 5, 2, 3, 1).reshape(batch, channels * kernels, lats * part)
    out = torch.baddbmm(inputs["bias"][:, None], weight.view(1, len(weight), -1).expand(batch, -1, -1), features)
    return {"out": out.view(batch, -1, lats, part)}
