# SPDX-License-Identifier: Apache-2.0
"""u = bf16(x2 v); y[t] = sum_{s <= t} h[g,s] u[t-s] + conv_bias[c] u[t], g = floor(c / group_dim), rounded to bf16; z
= x1 y, over the whole sequence of 2W chunks, of which rank r holds chunks r and 2W-1-r. z is transposed to [B, L,
C]."""

import torch
from common_c import bf16, number, tensors


def sequence(ranks, name):
    halves = [x.double().chunk(2, 2) for x in tensors(ranks, name)]
    return torch.cat([a for a, _ in halves] + [b for _, b in reversed(halves)], 2)


def oracle(ranks):
    x1, x2, v = (sequence(ranks, name) for name in ("x1_seq", "x2_seq", "v_seq"))
    taps = ranks[0]["inputs"]["h"].double().repeat_interleave(number(ranks, "group_dim"), 0)
    u = bf16(x2 * v)
    y = u * ranks[0]["inputs"]["conv_bias"].double()[:, None]
    for s in range(taps.shape[1]):
        y[..., s:] += taps[:, s, None] * u[..., : u.shape[2] - s]
    chunks = (x1 * bf16(y)).mT.chunk(2 * len(ranks), 1)
    return [{"z_seq": torch.cat([chunks[r], chunks[-1 - r]], 1)} for r in range(len(ranks))]
