# SPDX-License-Identifier: Apache-2.0
"""Tiles of equal shape are decoded together and gathered, the own ones blended with their neighbours, gathered and stitched."""

import itertools
import math

import torch
import torch.nn.functional as F

from exchange import all_gather_rows


def gather_tiles(own, shapes_of):
    """The tiles of all ranks by name; own is one flat tensor, in the order of the own shapes."""
    sizes = [[math.prod(shape) for shape in shapes.values()] for shapes in shapes_of]
    everything = own.new_empty(sum(map(sum, sizes)))
    parts = everything.split([sum(of_rank) for of_rank in sizes])
    all_gather_rows(list(parts), own)
    return {tile: flat.view(shape) for part, shapes, of_rank in zip(parts, shapes_of, sizes)
            for (tile, shape), flat in zip(shapes.items(), part.split(of_rank))}


def run(inputs, scalars, params, team):
    z, device = inputs["z"], team.device
    batch, channels, *extents = z.shape
    tiles = (scalars["tile_t"] + int(scalars["first_frame_as_image"]), scalars["tile_h"], scalars["tile_w"])
    overlaps = (scalars["temporal_overlap"], scalars["spatial_overlap"], scalars["spatial_overlap"])
    up = scalars["spatial_upsample"] * scalars["sr_ratio"]
    factors = (scalars["temporal_upsample"], up, up)
    strides = [int(tile * (1 - overlap)) for tile, overlap in zip(tiles, overlaps)]
    blends = [int(tile * factor * overlap) for tile, factor, overlap in zip(tiles, factors, overlaps)]
    keeps = [tile * factor - blend for tile, factor, blend in zip(tiles, factors, blends)]
    counts = [math.ceil(extent / stride) for extent, stride in zip(extents, strides)]

    latent = {name: tuple(min(tile, extent - i * stride) for i, tile, extent, stride in zip(name, tiles, extents, strides))
              for name in itertools.product(*map(range, counts))}
    by_size = sorted(latent, key=lambda name: -math.prod(latent[name]))
    # Of every rank, equal shapes side by side.
    owned = [sorted(by_size[rank :: team.world], key=latent.get) for rank in range(team.world)]
    decoded_shapes = [{name: (batch, 3, *(n * factor for n, factor in zip(latent[name], factors))) for name in names} for names in owned]
    blended_shapes = [{name: (batch, 3, *map(min, shape[2:], keeps)) for name, shape in shapes.items()} for shapes in decoded_shapes]

    own_shapes = decoded_shapes[team.rank]
    decoded = z.new_empty(sum(map(math.prod, own_shapes.values())))
    used = z[:, :3] if channels >= 3 else z.repeat(1, math.ceil(3 / channels), 1, 1, 1)[:, :3]
    start = 0
    for shape, names in itertools.groupby(owned[team.rank], key=latent.get):
        cuts = [tuple(slice(i * stride, i * stride + n) for i, stride, n in zip(name, strides, shape)) for name in names]
        fine = F.interpolate(torch.cat([used[(..., *cut)] for cut in cuts]).float(), scale_factor=factors, mode="trilinear")
        decoded[start : start + fine.numel()].view_as(fine).copy_(fine)
        start += fine.numel()

    everything = gather_tiles(decoded, decoded_shapes)
    weights = {}
    blended = z.new_empty(sum(map(math.prod, blended_shapes[team.rank].values())))
    start = at = 0
    for name, shape in own_shapes.items():
        size = math.prod(shape)
        tile = decoded[start : start + size].view(shape)
        start += size
        for axis in range(3):
            if name[axis] == 0:
                continue
            before = everything[tuple(i - (a == axis) for a, i in enumerate(name))]
            extent = min(before.shape[2 + axis], shape[2 + axis], blends[axis])
            if extent == 0:
                continue
            if (axis, extent) not in weights:
                part = torch.arange(extent, dtype=torch.float64, device=device).div_(extent).view(-1, *[1] * (2 - axis))
                weights[axis, extent] = ((1 - part).float(), part.float())
            old, new = weights[axis, extent]
            edge = tile.narrow(2 + axis, 0, extent)
            faded = torch.mul(before.narrow(2 + axis, before.shape[2 + axis] - extent, extent), old, out=torch.empty_like(edge))
            torch.mul(edge, new, out=edge).add_(faded)
        kept = blended_shapes[team.rank][name]
        size = math.prod(kept)
        blended[at : at + size].view(kept).copy_(tile[:, :, : kept[2], : kept[3], : kept[4]])
        at += size

    video = z.new_empty(batch, 3, *(extent * factor for extent, factor in zip(extents, factors)))
    for name, tile in gather_tiles(blended, blended_shapes).items():
        place = tuple(slice(i * keep, i * keep + n) for i, keep, n in zip(name, keeps, tile.shape[2:]))
        video[(..., *place)] = tile
    return {"video": video}
