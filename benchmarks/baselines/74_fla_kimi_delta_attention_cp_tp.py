# SPDX-License-Identifier: Apache-2.0
"""Delta rule with a decay per channel; keys, values and gates are gathered, queries stay, and only tokens up to the own
ones are computed."""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F

from delta_rule import by_chunks, states_and_updates
from exchange import Together, all_gather


def run(inputs, scalars, params, team):
    q = inputs["q"]
    batch, tokens, heads, channels = q.shape
    tp = min(2, team.world // 2)
    cp, place = team.world // tp, team.rank // tp
    cp_group = team.group_of([[t + tp * c for c in range(cp)] for t in range(tp)])
    tp_group = team.group_of([[tp * c + t for t in range(tp)] for c in range(cp)])
    # Decay is at least e^lower_bound a token: over a chunk its inverse stays in the range of fp32.
    size = math.gcd(tokens, int(80 / -scalars["lower_bound"]))

    local = [inputs[name] for name in ("k", "v", "g", "beta")]
    gathered = [t.new_empty(cp, *t.shape) for t in local]
    with Together(team.device, cp_group, async_ops=True) as work:
        for output, tensor in zip(gathered, local):
            all_gather(output.flatten(0, 1), tensor, cp_group)
    q = F.normalize(by_chunks(q[None], size), dim=-1, eps=1e-12).mul_(channels**-0.5)
    rate, offset = inputs["a_log"].float().exp_(), inputs["dt_bias"].float()
    work.wait()

    k, v, g, beta = (by_chunks(t[: place + 1], size) for t in gathered)
    k = F.normalize(k, dim=-1, eps=1e-12)
    g.add_(offset.view(heads, 1, 1, channels)).mul_(rate.view(heads, 1, 1, 1)).sigmoid_().mul_(scalars["lower_bound"])
    since_start = g.cumsum(3)
    fading = since_start.exp()
    rising = k * since_start.neg_().exp_()
    faded, kept = k * fading, fading[:, :, :, -1]
    first = place * tokens // size
    states, u = states_and_updates((faded @ rising.mT).tril_(-1), faded, rising * kept[..., None, :], v, beta.sigmoid_(), kept, first)
    q.mul_(fading[:, :, first:])
    out = q @ states
    out += (q @ rising[:, :, first:].mT).tril_() @ u
    out = out.view(batch, heads, tokens, -1).transpose(1, 2).to(torch.bfloat16, memory_format=torch.contiguous_format)
    if tp > 1:
        dist.all_reduce(out, group=tp_group)
    return {"out": out}
