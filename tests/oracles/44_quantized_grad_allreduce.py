# SPDX-License-Identifier: Apache-2.0
"""Blocks of block_size elements, s = max(max|x|, 1e-8) * fp32(1/127), q = clamp(rint(x / s), -127, 127) in fp32;
mean_grad = (sum over ranks of fp32(q * s)) / W.

Integers and scales are those of the specification bit for bit; sum and quotient are exact.
"""

import torch
from common_a import raw


def dequantized(x, size):
    blocks = torch.nn.functional.pad(x.float(), (0, -len(x) % size)).reshape(-1, size)
    scale = blocks.abs().amax(1, keepdim=True).clamp_min(1e-8) * torch.tensor(1 / 127)
    codes = torch.round(blocks / scale).clamp(-127, 127)
    return (codes * scale).flatten()[: len(x)].double()


def oracle(ranks):
    size = ranks[0]["scalars"]["block_size"]
    mean = sum(dequantized(x, size) for x in raw(ranks, "flat_grad")) / len(ranks)
    return [{"mean_grad": mean} for _ in ranks]
