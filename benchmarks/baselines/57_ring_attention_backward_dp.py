# SPDX-License-Identifier: Apache-2.0
"""Gradients of attention with the tokens over a group of ranks, averaged over two replicas."""

import context
import torch
from exchange import Together, all_gather, all_reduce_mean, reduce_scatter


def backward(grad, q, k, v, out, lse, scale):
    """batch, token, head, channel"""
    grad, q, k, v, out = (t.transpose(1, 2) for t in (grad, q, k, v, out))
    if q.device.type == "cuda":
        unused = torch.empty(2, dtype=torch.uint64, device=q.device)
        gradients = torch.ops.aten._scaled_dot_product_flash_attention_backward(
            grad, q, k, v, out, lse, None, None, q.shape[2], k.shape[2], 0.0, False, unused, unused, scale=scale)
    else:
        gradients = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, q, k, v, out, lse, 0.0, False, scale=scale)
    return [t.transpose(1, 2) for t in gradients]


def run(inputs, scalars, params, team):
    dout, q, k, v, out, lse = (inputs[name] for name in ("dout", "q", "k", "v", "out", "softmax_lse"))
    members = team.world // params["DP"]
    cp = team.group_of([list(range(first, first + members)) for first in range(0, team.world, members)])
    dp = team.group_of([list(range(c, team.world, members)) for c in range(members)])
    if members > 1:
        all_k, all_v = (t.new_empty(members, *t.shape) for t in (k, v))
        with Together(team.device, cp):
            all_gather(all_k.flatten(0, 1), k, cp)
            all_gather(all_v.flatten(0, 1), v, cp)
        k, v = (context.joined(t, members) for t in (all_k, all_v))
    dq, *others = backward(dout, q, k, v, out, lse, scalars["softmax_scale"])
    if members > 1:
        parts = torch.empty(members, 2, *q.shape, dtype=torch.float32, device=q.device)
        for i, t in enumerate(others):
            parts[:, i].copy_(t.unflatten(1, (members, -1)).transpose(0, 1))
        own = parts.new_empty(2, *q.shape)
        reduce_scatter(own, parts.flatten(0, 1), group=cp)
        others = [own.to(q.dtype)]
    gradients = [t.contiguous() for t in (dq, *others)]
    with Together(team.device, dp):
        for t in gradients:
            all_reduce_mean(t, dp)
    dq, dk, dv = gradients if members == 1 else (gradients[0], *gradients[1])
    return {"dq": dq, "dk": dk, "dv": dv}
