# SPDX-License-Identifier: Apache-2.0
"""loss_r = -1/b sum over the b own images i and all texts j of log sigmoid(y (scale <i, j> + bias)), y = 1 or -1.

y = 1 for a pair, else -1. bf16 at every step: per block of one rank's texts, and for the sum of the blocks: own, then
those of r+1, r-1, r+2, r-2 and so on, for even W the one opposite last.
"""
import torch

from common_b import bf16, wide


def oracle(ranks):
    world, scalars = len(ranks), ranks[0]["scalars"]
    results = []
    for r, rank in enumerate(ranks):
        images = bf16(scalars["logit_scale"] * wide(rank, "image_features")[0])
        order = [0] + [step for i in range(1, (world + 1) // 2) for step in (i, -i)] + [world // 2] * (world % 2 == 0)
        loss = torch.zeros((), dtype=torch.float64)
        for step in order:
            texts, = wide(ranks[(r + step) % world], "text_features")
            logits = bf16(bf16(images @ texts.T) + scalars["logit_bias"])
            signs = (2.0 if step == 0 else 0.0) * torch.eye(len(logits)) - 1
            terms = bf16(torch.nn.functional.logsigmoid(signs * logits))
            loss = bf16(loss + bf16(-bf16(terms.sum()) / len(logits)))
        results.append({"loss": loss})
    return results
