# SPDX-License-Identifier: Apache-2.0
"""Projection of Gaussians on every rank's cameras; visible pairs travel to the camera's rank, a row of 4-byte words each."""

import torch
import torch.nn.functional as F

from exchange import all_gather, all_to_all


def run(inputs, scalars, params, team):
    means, scales, colors = inputs["means"], inputs["scales"], inputs["colors"]
    count, cameras, world = len(means), len(inputs["viewmats"]), team.world
    size = [scalars["image_width"], scalars["image_height"]]

    own = torch.cat([inputs["viewmats"].flatten(), inputs["Ks"].flatten(), means.new_full((1,), count)])
    everyone = own.new_empty(world * len(own))
    all_gather(everyone, own)
    everyone = everyone.view(world, -1)
    views = everyone[:, : 16 * cameras].reshape(-1, 4, 4)
    intrinsics = everyone[:, 16 * cameras : 25 * cameras].reshape(-1, 3, 3)
    counts_before = everyone[:, -1].long().cumsum(0) - everyone[:, -1].long()

    # Component first: [.., Gaussians].
    w, x, y, z = F.normalize(inputs["quats"], dim=1, eps=1e-12).T
    rotation = torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                            2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                            2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]).view(3, 3, count)
    factor = rotation * scales.T
    turn = views[:, :3, :3].reshape(-1, 3)
    place = torch.addmm(views[:, :3, 3].reshape(-1, 1), turn, means.T).view(-1, 3, count)
    factor = (turn @ factor.view(3, -1)).view(-1, 3, 3, count)

    depth = place[:, 2:]
    focal = intrinsics.diagonal(dim1=1, dim2=2)[:, :2, None]
    centre = intrinsics[:, :2, 2:]
    extent = torch.stack([torch.full((), float(n), device=own.device) for n in size])[:, None]
    margin = 0.15 * extent / focal
    slope = torch.clamp(place[:, :2] / depth, -(centre / focal + margin), (extent - centre) / focal + margin)
    flat = (factor[:, :2] - slope[:, :, None] * factor[:, 2:]) * (focal / depth)[:, :, None]
    diagonal = flat.square().sum(2).add_(scalars["eps2d"])
    across = (flat[:, 0] * flat[:, 1]).sum(1)
    determinant = (diagonal[:, 0] * diagonal[:, 1]).addcmul_(across, across, value=-1).clamp_(min=1e-10)
    conics = torch.stack([diagonal[:, 1], -across, diagonal[:, 0]], 1).div_(determinant[:, None])
    means2d = (intrinsics[:, :2] @ place) / depth
    radii = torch.ceil(3.33 * diagonal.sqrt())
    seen = ((means2d + radii > 0) & (means2d - radii < extent) & (radii > 0)).all(1)
    seen &= ((depth > scalars["near_plane"]) & (depth < scalars["far_plane"]))[:, 0]

    counts = torch.empty(2, world, dtype=torch.int64, device=own.device)
    torch.sum(seen.view(world, -1), 1, out=counts[0])
    all_to_all(counts[1], counts[0])
    rows = torch.cat([means2d, depth, conics, radii], 1).mT.reshape(-1, 8)
    splits, received_splits = counts.tolist()
    pair = torch.nonzero_static(seen.view(-1), size=sum(splits)).view(-1)
    camera, gaussian = pair // count, pair % count
    rank = camera // cameras
    ids = torch.stack([camera - rank * cameras, gaussian + counts_before[rank]], 1).int()
    sent = torch.cat([rows[pair], inputs["opacities"][gaussian, None], colors[gaussian], ids.view(torch.float32)], 1)
    received = sent.new_empty(sum(received_splits), sent.shape[1])
    all_to_all(received, sent, received_splits, splits)

    means2d, depths, conics, radii, opacities, colors, ids = received.split([2, 1, 3, 2, 1, colors.shape[1], 2], 1)
    camera_ids, gaussian_ids = ids.view(torch.int32).long().T
    return {"camera_ids": camera_ids, "gaussian_ids": gaussian_ids, "radii": radii.int(), "means2d": means2d, "depths": depths[:, 0],
            "conics": conics, "opacities_out": opacities[:, 0], "colors_out": colors}
