# SPDX-License-Identifier: Apache-2.0
"""A step of training a perceptron whose parameters, gradients and moments lie in flat vectors."""

import math

import torch
import torch.distributed as dist
import torch.nn.functional as F

from exchange import all_gather, reduce_scatter_mean

NAMES = ("W1", "b1", "W2", "b2")


def shapes_of(inputs, params):
    return [(params["hidden"], params["d_in"]), (params["hidden"],), (params["d_out"], params["hidden"]), (params["d_out"],)]


def views(flat, shapes):
    return [part.view(shape) for part, shape in zip(flat.split([math.prod(shape) for shape in shapes]), shapes)]


def from_first(tensors, team, async_op=False):
    """The tensors of rank 0 on all ranks, joined."""
    if team.rank == 0:
        flat = torch.cat([tensor.view(-1) for tensor in tensors])
    else:
        flat = tensors[0].new_empty(sum(tensor.numel() for tensor in tensors))
    work = dist.broadcast(flat, 0, async_op=async_op)
    return (flat, work) if async_op else flat


def gradients(inputs, flat, shapes):
    """Of the mean squared error on the own rows, flat."""
    x, (w1, b1, w2, b2) = inputs["X_local"], views(flat, shapes)
    out = torch.empty_like(flat)
    g_w1, g_b1, g_w2, g_b2 = views(out, shapes)
    h = F.linear(x, w1, b1).relu_()
    g_o = F.linear(h, w2, b2).sub_(inputs["y_local"])
    g_o.mul_(torch.tensor(2 / g_o.numel(), dtype=g_o.dtype).item())
    torch.mm(g_o.t(), h, out=g_w2)
    torch.sum(g_o, 0, out=g_b2)
    g_a = torch.ops.aten.threshold_backward(g_o @ w2, h, 0)
    torch.mm(g_a.t(), x, out=g_w1)
    torch.sum(g_a, 0, out=g_b1)
    return out


def adam_(p, g, m, v, scalars):
    """All four updated at once, in fp32 between their bf16 values."""
    decay = scalars.get("weight_decay")
    update = torch._fused_adam_ if decay is None else torch._fused_adamw_
    step = torch.full((), float(scalars["step"]), device=p.device)
    update([p], [g], [m], [v], [], [step], lr=scalars["lr"], beta1=scalars["beta1"], beta2=scalars["beta2"],
           weight_decay=decay or 0.0, eps=scalars["eps"], amsgrad=False, maximize=False)


def sharded_step(inputs, scalars, params, team):
    """The moments, and so the update, are spread over the ranks: problems 41 and 42."""
    shapes = shapes_of(inputs, params)
    p, arrived = from_first([inputs[name] for name in NAMES], team, async_op=True)
    m, v = torch.stack((inputs["exp_avg_part"], inputs["exp_avg_sq_part"]))
    arrived.wait()
    own = p.chunk(team.world)[team.rank]
    g = gradients(inputs, p, shapes)
    mean = torch.empty_like(own)
    reduce_scatter_mean(mean, g)
    adam_(own, mean, m, v, scalars)
    all_gather(p, own)
    outputs = {f"{name}_new": view for name, view in zip(NAMES, views(p, shapes))}
    return outputs | {"m_part": m, "v_part": v}
