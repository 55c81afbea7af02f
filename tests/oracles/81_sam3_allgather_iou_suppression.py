# SPDX-License-Identifier: Apache-2.0
"""The masks M of all ranks; pixels > 0 make the objects, iou = |both| / max(|either|, 1) in fp32. Object i is
suppressed by j if iou >= threshold and L_i > L_j > -1, L = last_occluded (reverse: L_i < L_j and L_j > -1).
Suppressed masks become -10."""

import torch
from common_c import joined


def oracle(ranks):
    scalars, last = ranks[0]["scalars"], ranks[0]["inputs"]["last_occluded"]
    masks, scores = joined(ranks, "masks").float(), joined(ranks, "scores").float()
    objects = (masks > 0).flatten(1).double()
    both = objects @ objects.T
    area = objects.sum(1)
    either = area[:, None] + area - both
    overlap = both.float() / either.clamp_min(1).float() >= torch.tensor(scalars["iou_threshold"], dtype=torch.float32)
    overlap.fill_diagonal_(False)
    later = last[:, None] < last if scalars["reverse"] else last[:, None] > last
    suppressed = (overlap & later & (last > -1)).any(1)
    masks[suppressed] = -10
    return [{"masks_global": masks, "scores_global": scores, "to_suppress": suppressed} for _ in ranks]
