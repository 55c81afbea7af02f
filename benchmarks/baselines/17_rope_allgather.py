# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding of queries and keys, gathered along the sequence. Both travel in one buffer."""

import torch

import exchange


def run(inputs, scalars, params, team):
    q, k = inputs["q_local"], inputs["k_local"]
    cos, sin = inputs["cos_local"].unsqueeze(2), inputs["sin_local"].unsqueeze(2)
    batch, length, heads, width = q.shape
    half = width // 2
    minus_sin = -sin[..., :half]
    both = q.new_empty(2, *q.shape)
    turned = torch.empty_like(both)
    for i, x in enumerate((q, k)):
        torch.mul(x, cos, out=both[i])
        torch.mul(x[..., half:], minus_sin, out=turned[i, ..., :half])
        torch.mul(x[..., :half], sin[..., half:], out=turned[i, ..., half:])
    both += turned
    gathered = both.new_empty(team.world, *both.shape)
    exchange.all_gather(gathered, both)
    q, k = gathered.permute(1, 2, 0, 3, 4, 5).reshape(2, batch, team.world * length, heads, width)
    return {"q_global": q, "k_global": k}
