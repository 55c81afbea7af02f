# SPDX-License-Identifier: Apache-2.0
"""Real 2-D FFT: columns, all-to-all, rows; both scalings ride on the last copy."""

import torch

from exchange import all_to_all


def run(inputs, scalars, params, team):
    x = inputs["x"]
    batch, height, columns = x.shape
    width, rows = scalars["s"][1], height // team.world
    spectrum = torch.fft.fft(x, dim=1)
    # The transform leaves its axis innermost.
    sent = spectrum.unflatten(1, (team.world, rows)).permute(1, 0, 3, 2).contiguous()
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    full = received.permute(1, 3, 0, 2).reshape(batch, rows, width)
    return {"spectrum": torch.fft.fft(full, dim=2)[..., : width // 2 + 1] * (height * width) ** -0.5}
