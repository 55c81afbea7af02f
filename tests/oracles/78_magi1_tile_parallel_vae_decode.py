# SPDX-License-Identifier: Apache-2.0
"""z is cut into overlapping tiles, each taken from its owner's z (largest first, dealt out in turn) and upsampled
trilinearly inside the tile. Along time, height and width a tile's first frames are blended with the last ones of the
decoded tile before it: bf16(bf16(prev (1 - e/E)) + bf16(cur e/E)). Tiles are cropped to their stride and put
together."""

import itertools
import math

import torch
from common_c import bf16


def upsampling(n, factor):
    """The matrix [n factor, n] of linear interpolation with half-pixel centres, clamped at the border."""
    position = ((torch.arange(n * factor) + 0.5) / factor - 0.5).clamp_min(0).double()
    low = position.floor().long()
    part = position - low
    identity = torch.eye(n, dtype=torch.float64)
    return (1 - part)[:, None] * identity[low] + part[:, None] * identity[(low + 1).clamp_max(n - 1)]


def decode(tile, factors):
    if tile.shape[1] < 3:
        tile = tile.repeat(1, math.ceil(3 / tile.shape[1]), 1, 1, 1)
    t, h, w = (upsampling(n, factor) for n, factor in zip(tile.shape[2:], factors))
    return bf16(torch.einsum("bcthw,xt,yh,zw->bcxyz", tile[:, :3].double(), t, h, w))


def blend(before, tile, axis, most):
    """tile with its first frames along the axis faded in over the last ones of the tile before it."""
    extent = min(before.shape[axis], tile.shape[axis], most)
    if extent == 0:
        return tile
    part = torch.arange(extent).double() / extent
    shape = [extent if a == axis else 1 for a in range(5)]
    old = before.narrow(axis, before.shape[axis] - extent, extent).float() * (1 - part).float().view(shape)
    new = tile.narrow(axis, 0, extent).float() * part.float().view(shape)
    rest = tile.narrow(axis, extent, tile.shape[axis] - extent)
    return torch.cat([bf16(bf16(old) + bf16(new)), rest], axis)


def oracle(ranks):
    scalars = ranks[0]["scalars"]
    latents = [rank["inputs"]["z"] for rank in ranks]
    extents = (scalars["tile_t"] + int(scalars["first_frame_as_image"]), scalars["tile_h"], scalars["tile_w"])
    overlaps = (scalars["temporal_overlap"], scalars["spatial_overlap"], scalars["spatial_overlap"])
    spatial = scalars["spatial_upsample"] * scalars["sr_ratio"]
    factors = (scalars["temporal_upsample"], spatial, spatial)
    strides = [int(extent * (1 - overlap)) for extent, overlap in zip(extents, overlaps)]
    blends = [int(extent * factor * overlap) for extent, factor, overlap in zip(extents, factors, overlaps)]
    keeps = [extent * factor - most for extent, factor, most in zip(extents, factors, blends)]
    counts = [math.ceil(n / stride) for n, stride in zip(latents[0].shape[2:], strides)]

    tiles = list(itertools.product(*map(range, counts)))
    place = {tile: tuple(slice(i * stride, i * stride + extent) for i, stride, extent in zip(tile, strides, extents))
             for tile in tiles}
    by_size = sorted(tiles, key=lambda tile: -latents[0][(..., *place[tile])].numel())
    decoded = {tile: decode(latents[turn % len(ranks)][(..., *place[tile])], factors)
               for turn, tile in enumerate(by_size)}

    def finished(tile):
        result = decoded[tile]
        for axis in range(3):
            if tile[axis] > 0:
                before = tuple(i - (a == axis) for a, i in enumerate(tile))
                result = blend(decoded[before], result, 2 + axis, blends[axis])
        return result[:, :, : keeps[0], : keeps[1], : keeps[2]]

    video = torch.cat([torch.cat([torch.cat([finished((a, b, c)) for c in range(counts[2])], 4)
                                  for b in range(counts[1])], 3) for a in range(counts[0])], 2)
    return [{"video": video} for _ in ranks]
