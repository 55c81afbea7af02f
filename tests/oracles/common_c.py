# SPDX-License-Identifier: Apache-2.0
"""What the oracles of the science, graph, vision and sorting problems share."""

import math

import torch


def tensors(ranks, name):
    """The input of every rank that has it, in rank order."""
    return [rank["inputs"][name] for rank in ranks if rank["inputs"][name] is not None]


def joined(ranks, name, dim=0):
    """The ranks' slices of one global tensor, put together."""
    return torch.cat(tensors(ranks, name), dim)


def number(ranks, name):
    """A whole number from the params, the same on all ranks."""
    return int(ranks[0]["params"][name])


def bf16(x):
    """x rounded to fp32 and then to bf16, as fp64."""
    return x.float().bfloat16().double()


def fourier(n, sign):
    """The orthonormal matrix exp(sign 2 pi i j k / n) / sqrt(n)."""
    j = torch.arange(n)
    angle = sign * 2 * math.pi * (torch.outer(j, j) % n).double() / n
    return torch.polar(torch.full_like(angle, n ** -0.5), angle)


def correlate(x, weight):
    """sum over c and taps of weight[o, c, taps] * x[b, c, position + taps], where every tap lies inside x; fp64."""
    axes = weight.dim() - 2
    windows = x.double()
    for axis in range(axes):
        windows = windows.unfold(2 + axis, weight.shape[2 + axis], 1)
    over = list(range(2 + axes, 2 + 2 * axes))
    result = torch.tensordot(windows, weight.double(), dims=([1, *over], [1, *range(2, 2 + axes)]))
    return result.movedim(-1, 1)


def rotated_exchange(rows, sent, received):
    """Uneven all-to-all by slots. rows[r] consists of sent[r][i] rows for rank (r + i) mod W, i = 0 .. W-1; the result
    on rank r consists of received[r][i] rows from rank (r + i) mod W, which that rank has in its slot -i mod W."""
    world = len(rows)
    chunks = [rows[r].split(sent[r]) for r in range(world)]
    arrived = [[chunks[(r + i) % world][-i % world] for i in range(world)] for r in range(world)]
    assert [[len(chunk) for chunk in row] for row in arrived] == received
    return [torch.cat(row) for row in arrived]


def kept(x, top_k, top_p):
    """Which entries of the rows of x [tokens, V] the filter keeps. top_k: those not below the k-th largest, ties
    included. Then top_p < 1: in stable ascending order those whose cumulative probability exceeds 1 - top_p, and the
    last."""
    vocabulary = x.shape[1]
    ascending, order = x.sort(dim=1, stable=True)
    keep = torch.ones_like(x, dtype=torch.bool)
    if top_k:
        keep = ascending >= ascending[:, [vocabulary - min(top_k, vocabulary)]]
    if top_p < 1:
        mass = ascending.masked_fill(~keep, -math.inf).softmax(1).cumsum(1)
        keep &= mass > 1 - top_p
        keep[:, -1] = True
    return torch.zeros_like(keep).scatter_(1, order, keep)
