# SPDX-License-Identifier: Apache-2.0
"""Delta rule with one decay a head: all five inputs change from sequence to head shards in one exchange."""

import math

import torch
import torch.nn.functional as F

from delta_rule import by_chunks, states_and_updates
from exchange import all_to_all


def run(inputs, scalars, params, team):
    world = team.world
    q, v = inputs["q"], inputs["v"]
    batch, tokens, heads, channels = q.shape
    all_values, width = v.shape[2:]
    own, values = heads // world, all_values // world
    named = [inputs[name].view(batch, tokens, world, -1).permute(2, 0, 1, 3) for name in ("q", "k", "v", "gate", "beta")]
    sent = torch.cat(named, -1)
    received = torch.empty_like(sent)
    all_to_all(received, sent)

    size = math.gcd(tokens, 64)
    q, k, v, gate, beta = received.split([t.shape[-1] for t in named], -1)
    q, k = (F.normalize(by_chunks(t.unflatten(-1, (own, channels)), size), dim=-1, eps=1e-6) for t in (q, k))
    v = by_chunks(v.unflatten(-1, (values, width)), size)
    gate, beta = by_chunks(gate, size), by_chunks(beta, size)
    gate = F.softplus(gate.add_(inputs["dt_bias"].float().view(-1, 1, 1)))
    since_start = gate.mul_(inputs["a_log"].float().exp_().neg_().view(-1, 1, 1)).cumsum(-1)

    # [batch, query heads, value heads of each, chunks, tokens, channels]
    grouped = since_start.view(batch, own, -1, *since_start.shape[2:])
    q, k = q.mul_(channels**-0.5)[:, :, None], k[:, :, None]
    fading = grouped.exp()[..., None]
    between = (grouped[..., :, None] - grouped[..., None, :]).exp_().tril_()
    lasting = k * (grouped[..., -1:] - grouped).exp_()[..., None]
    scores = ((k @ k.mT) * between).tril_(-1)
    flat = [t.flatten(1, 2) for t in (scores, k * fading, lasting)]
    states, u = states_and_updates(*flat, v, beta, fading.flatten(1, 2)[..., -1, :], 0)
    out = (q * fading).flatten(1, 2) @ states
    out += ((q @ k.mT) * between).flatten(1, 2) @ u

    out = out.view(batch, values, world, tokens, width).permute(2, 0, 3, 1, 4)
    out = out.to(torch.bfloat16, memory_format=torch.contiguous_format)
    returned = torch.empty_like(out)
    all_to_all(returned, out)
    return {"out": returned.permute(1, 2, 0, 3, 4).reshape(batch, tokens, all_values, width)}
