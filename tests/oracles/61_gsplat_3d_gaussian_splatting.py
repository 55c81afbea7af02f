# SPDX-License-Identifier: Apache-2.0
"""Every Gaussian (mean mu, covariance A A^T with A = R(q) diag(scale)) is projected on every rank's cameras:
covariance S = J V A A^T V^T J^T + eps2d I, conic = S^-1, radius ceil(3.33 sqrt(S_ii)). Pairs that touch the image go
to the camera's rank, ordered by source rank, camera, Gaussian. gaussian_id is offset by the Gaussians of the ranks
below the destination."""

import torch
from common_c import joined, tensors


def rotations(quats):
    w, x, y, z = (quats / quats.norm(dim=1, keepdim=True).clamp_min(1e-12)).unbind(1)
    entries = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
               2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
               2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return torch.stack(entries, 1).reshape(-1, 3, 3)


def project(inputs, views, intrinsics, scalars):
    """All cameras x all Gaussians of one rank: which pairs are visible, and their rows."""
    size = torch.tensor([scalars["image_width"], scalars["image_height"]], dtype=torch.float64)
    turn, shift = views[:, None, :3, :3], views[:, None, :3, 3]
    focal = torch.stack([intrinsics[:, 0, 0], intrinsics[:, 1, 1]], 1)[:, None]
    centre = intrinsics[:, None, :2, 2]
    world_factor = rotations(inputs["quats"].double()) * inputs["scales"].double()[:, None]
    factor = turn @ world_factor
    place = (turn @ inputs["means"].double()[..., None])[..., 0] + shift
    depth = place[..., 2:]

    margin = 0.3 * 0.5 * size / focal
    slope = torch.clamp(place[..., :2] / depth, -(centre / focal + margin), (size - centre) / focal + margin)
    jacobian = torch.zeros(*depth.shape[:2], 2, 3, dtype=torch.float64)
    jacobian[..., 0, 0], jacobian[..., 1, 1] = (focal / depth).unbind(-1)
    jacobian[..., 2] = -focal * slope / depth
    flat = jacobian @ factor
    covariance = flat @ flat.mT + scalars["eps2d"] * torch.eye(2, dtype=torch.float64)
    s00, s01, s11 = covariance[..., 0, 0], covariance[..., 0, 1], covariance[..., 1, 1]
    determinant = (s00 * s11 - s01 * s01).clamp_min(1e-10)
    means2d = (intrinsics[:, None, :2] @ place[..., None])[..., 0] / depth
    radii = torch.ceil(3.33 * torch.stack([s00, s11], -1).sqrt())

    touches = (means2d + radii > 0) & (means2d - radii < size)
    in_range = (depth > scalars["near_plane"]) & (depth < scalars["far_plane"])
    visible = (touches & in_range & (radii > 0)).all(-1)
    conics = torch.stack([s11 / determinant, -s01 / determinant, s00 / determinant], -1)
    return visible, {"radii": radii, "means2d": means2d, "depths": depth[..., 0], "conics": conics}


def oracle(ranks):
    views, intrinsics = joined(ranks, "viewmats").double(), joined(ranks, "Ks").double()
    cameras = len(ranks[0]["inputs"]["viewmats"])
    gaussians = [len(means) for means in tensors(ranks, "means")]
    projected = [project(rank["inputs"], views, intrinsics, rank["scalars"]) for rank in ranks]
    outputs = []
    for d in range(len(ranks)):
        own = slice(d * cameras, (d + 1) * cameras)
        segments = []
        for rank, (visible, rows) in zip(ranks, projected):
            camera, gaussian = visible[own].nonzero(as_tuple=True)
            segment = {name: values[own][camera, gaussian] for name, values in rows.items()}
            segment["radii"] = segment["radii"].int()
            segment["camera_ids"], segment["gaussian_ids"] = camera, gaussian + sum(gaussians[:d])
            segment["opacities_out"] = rank["inputs"]["opacities"][gaussian]
            segment["colors_out"] = rank["inputs"]["colors"][gaussian]
            segments.append(segment)
        outputs.append({name: torch.cat([segment[name] for segment in segments]) for name in segments[0]})
    return outputs
