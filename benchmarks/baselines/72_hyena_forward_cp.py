# SPDX-License-Identifier: Apache-2.0
"""Hyena operator: x1 and x2*v go to their channels' rank in one exchange, an FFT convolution, and back. x1 and z keep the
order of arrival (chunk p, chunk 2W-1-p of every rank p)."""

import torch

from exchange import all_to_all


def run(inputs, scalars, params, team):
    x1, h = inputs["x1_seq"], inputs["h"]
    batch, channels, length = x1.shape
    world, own, chunk = team.world, channels // team.world, length // 2
    total = world * length

    def by_rank(tensor):
        return tensor.view(batch, world, own, length).transpose(0, 1)

    sent = x1.new_empty(2, world, batch, own, length)
    torch.mul(by_rank(inputs["x2_seq"]), by_rank(inputs["v_seq"]), out=sent[1])
    arrived = torch.empty_like(sent)
    work = all_to_all(arrived[1], sent[1], async_op=True)
    sent[0] = by_rank(x1)
    later = all_to_all(arrived[0], sent[0], async_op=True)

    groups = own // scalars["group_dim"]
    filters = torch.fft.rfft(h[team.rank * groups : (team.rank + 1) * groups].float(), n=2 * total, norm="forward")
    padded = torch.zeros(batch, own, 2 * total, device=x1.device)
    u = padded[..., :total]
    chunks = u.view(batch, own, 2 * world, chunk)
    work.wait()
    parts = arrived[1].view(world, batch, own, 2, chunk).permute(1, 2, 0, 3, 4)
    chunks[:, :, :world] = parts[..., 0, :]
    chunks[:, :, world:] = parts[..., 1, :].flip(2)
    spectrum = torch.fft.rfft(padded)
    spectrum.view(batch, groups, -1, total + 1).mul_(filters[:, None])
    y = torch.fft.irfft(spectrum, n=2 * total, norm="forward")[..., :total]
    bias = inputs["conv_bias"][team.rank * own : (team.rank + 1) * own].float()
    y = torch.addcmul(y, u, bias[:, None]).to(x1.dtype).view(batch, own, 2 * world, chunk)

    later.wait()
    gates = arrived[0].view(world, batch, own, 2, chunk)
    z = x1.new_empty(world, batch, 2, chunk, own)
    # [ranks, batch, chunk, own] <- [batch, own, ranks, chunk]
    torch.mul(gates[..., 0, :].mT, y[:, :, :world].permute(2, 0, 3, 1), out=z[:, :, 0])
    torch.mul(gates[..., 1, :].mT, y[:, :, world:].flip(2).permute(2, 0, 3, 1), out=z[:, :, 1])
    received = torch.empty_like(z)
    all_to_all(received, z)
    return {"z_seq": received.view(world, batch, length, own).permute(1, 2, 0, 3).reshape(batch, length, channels)}
