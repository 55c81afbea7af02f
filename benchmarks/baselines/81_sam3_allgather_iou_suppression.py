# SPDX-License-Identifier: Apache-2.0
"""Gather masks and scores as they are, then overlaps as one product."""

import torch

from exchange import all_gather_rows

ON_HOST = ("counts",)


def run(inputs, scalars, params, team):
    masks, scores, last = inputs["masks"], inputs["scores"], inputs["last_occluded"]
    counts = inputs["counts"].tolist()
    gathered = masks.new_empty(sum(counts), *masks.shape[1:])
    all_gather_rows(list(gathered.split(counts)), masks)
    all_scores = scores.new_empty(sum(counts))
    all_gather_rows(list(all_scores.split(counts)), scores)

    objects = torch.empty(len(gathered), gathered[0].numel(), device=masks.device)
    torch.gt(gathered.flatten(1), 0, out=objects)
    both = objects @ objects.T
    area = both.diagonal()
    overlap = both / (area[:, None] + area - both).clamp_(min=1) >= scalars["iou_threshold"]
    overlap.fill_diagonal_(False)
    later = last[:, None] < last if scalars["reverse"] else last[:, None] > last
    suppressed = overlap.logical_and_(later).logical_and_(last > -1).any(1)
    masks_global = gathered.float().masked_fill_(suppressed[:, None, None], -10)
    return {"masks_global": masks_global, "scores_global": all_scores.float(), "to_suppress": suppressed}
