# SPDX-License-Identifier: Apache-2.0
"""y = weight * x / sqrt(mean of x^2 over all ranks' features + eps); roundings to bf16 are left to the tolerance."""

import torch


def oracle(ranks):
    hidden = torch.cat([rank["inputs"]["hidden_local"].double() for rank in ranks], dim=1)
    variance = hidden.square().mean(dim=1, keepdim=True)
    answers = []
    for rank in ranks:
        x = rank["inputs"]["hidden_local"].double()
        scale = torch.rsqrt(variance + rank["scalars"]["variance_epsilon"])
        answers.append({"y_local": rank["inputs"]["weight_local"].double() * (x * scale)})
    return answers
