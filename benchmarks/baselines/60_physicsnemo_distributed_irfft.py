# SPDX-License-Identifier: Apache-2.0
"""Inverse real 2-D FFT in its one-sided form: only the real part counts, so inner columns weigh twice and no rank needs mirror images."""

import torch

from exchange import all_to_all


def run(inputs, scalars, params, team):
    x = inputs["x"]
    height, width = scalars["s"]
    *outer, rows, half = x.shape
    columns = width // team.world
    weights = torch.full((half,), 2 * (height * width) ** -0.5, device=x.device)
    weights[:: half - 1] *= 0.5
    padded = x.new_zeros(*outer, rows, width)
    torch.mul(x, weights, out=padded[..., :half])
    lines = torch.fft.ifft(padded, dim=-1, norm="forward")
    sent = lines.view(-1, rows, team.world, columns).permute(2, 0, 1, 3).contiguous()
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    full = received.permute(1, 3, 0, 2).reshape(-1, columns, height)
    field = torch.fft.ifft(full, dim=-1, norm="forward").real
    return {"y": field.mT.contiguous().view(*outer, height, columns)}
