# SPDX-License-Identifier: Apache-2.0
"""e = x*cos + rot(x)*sin with rot(x) = (-x[h:], x[:h]), h half the channels; cos and sin alike for all heads.

Both products and the sum are rounded to bf16; then the ranks' parts are joined along the sequence (axis 1).
"""

import torch
from common_a import inputs, round_bf16


def oracle(ranks):
    def rotated(name):
        parts = []
        for x, cos, sin in zip(inputs(ranks, name), inputs(ranks, "cos_local"), inputs(ranks, "sin_local")):
            first, second = x.chunk(2, dim=-1)
            turned = torch.cat([-second, first], dim=-1)
            parts.append(round_bf16(round_bf16(x * cos[:, :, None]) + round_bf16(turned * sin[:, :, None])))
        return torch.cat(parts, dim=1)

    q, k = rotated("q_local"), rotated("k_local")
    return [{"q_global": q, "k_global": k} for _ in ranks]
