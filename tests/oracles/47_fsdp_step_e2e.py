# SPDX-License-Identifier: Apache-2.0
"""One step of a two-layer ReLU network whose flat parameter (W1, b1, W2, b2) is spread over the ranks: mean squared
error on the own rows, gradients averaged over the ranks, AdamW on the own part with decay by the old parameter.

Rounded to bf16 where the specification rounds; a gradient's sum over the ranks once.
"""

import torch
from common_a import inputs, round_bf16


def gradient(x, y, w1, b1, w2, b2):
    """Of mean((relu(x w1^T + b1) w2^T + b2 - y)^2), flat."""
    h = round_bf16(x @ w1.T + b1).clamp_min(0)
    o = round_bf16(h @ w2.T + b2)
    go = round_bf16(round_bf16(torch.tensor(2 / y.numel())) * round_bf16(o - y))
    ga = round_bf16(go @ w2).where(h > 0, 0.0)
    return round_bf16(torch.cat([(ga.T @ x).flatten(), ga.sum(0), (go.T @ h).flatten(), go.sum(0)]))


def adamw(theta, m, v, g, lr, beta1, beta2, eps, weight_decay, step, **_):
    m = round_bf16(round_bf16(beta1 * m) + (1 - beta1) * g)
    v = round_bf16(round_bf16(beta2 * v) + (1 - beta2) * g * g)
    mean = round_bf16(m / (1 - beta1**step))
    scale = round_bf16(round_bf16(torch.sqrt(round_bf16(v / (1 - beta2**step)))) + eps)
    moved = round_bf16(theta - lr * round_bf16(mean / scale))
    return {"theta": round_bf16(moved - lr * weight_decay * theta), "m": m, "v": v}


def oracle(ranks):
    shards = inputs(ranks, "flat_param_shard")
    samples = list(zip(inputs(ranks, "X_local"), inputs(ranks, "y_local")))
    d_in, d_out, hidden = (ranks[0]["params"][name] for name in ("d_in", "d_out", "hidden"))
    w1, b1, w2, b2 = torch.cat(shards).split([hidden * d_in, hidden, d_out * hidden, d_out])
    w1, w2 = w1.reshape(hidden, d_in), w2.reshape(d_out, hidden)
    total = round_bf16(sum(gradient(x, y, w1, b1, w2, b2) for x, y in samples))
    g = round_bf16(total / len(ranks)).chunk(len(ranks))
    moments = zip(inputs(ranks, "exp_avg_shard"), inputs(ranks, "exp_avg_sq_shard"))
    return [adamw(shards[r], m, v, g[r], **ranks[r]["scalars"]) for r, (m, v) in enumerate(moments)]
