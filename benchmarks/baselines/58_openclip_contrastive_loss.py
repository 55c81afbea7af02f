# SPDX-License-Identifier: Apache-2.0
"""Sigmoid loss of image and text pairs over the texts of all ranks."""

import torch.nn.functional as F
from exchange import all_gather


def run(inputs, scalars, params, team):
    images, texts = inputs["image_features"], inputs["text_features"]
    count = texts.shape[0]
    gathered = texts.new_empty(team.world * count, texts.shape[1])
    work = all_gather(gathered, texts, async_op=True)
    # Minus the logits, since all pairs but the own are negatives.
    images = images * -scalars["logit_scale"]
    work.wait()
    logits = (images @ gathered.t()).sub_(scalars["logit_bias"])
    logits.diagonal(team.rank * count).neg_()
    by_rank = F.logsigmoid(logits).view(count, team.world, count).sum((0, 2))
    return {"loss": by_rank.mul_(-1 / count).sum()}
