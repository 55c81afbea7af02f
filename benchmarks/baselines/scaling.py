# SPDX-License-Identifier: Apache-2.0
"""Numbers rounded to 8-bit floats, with a scale from a history of largest magnitudes."""

import math

import torch


def quantize(x, history, out):
    """Into `out`, of x's shape: (scale, the new history)."""
    largest = torch.linalg.vector_norm(x.view(-1), math.inf, 0, keepdim=True)
    history = torch.cat((history[1:], largest))
    scale = torch.linalg.vector_norm(history, math.inf, 0, keepdim=True, dtype=torch.float32).clamp_min_(1e-12).mul_(1 / 448)
    torch.div(x, scale, out=out)
    return scale, history


def dequantize(q, scale, out):
    torch.mul(q.to(torch.bfloat16), scale, out=out)
