# SPDX-License-Identifier: Apache-2.0
"""Gradients of attention from the given out and log-sum-exp, averaged over replicas; rank d W/DP + c has part c of d.

X = scale q k^T, P = exp(X - lse), dX = P o (dout v^T - sum over channels of dout o out): dq = scale dX k,
dk = scale dX^T q, dv = P^T dout. Each is rounded to bf16, and so are the sum over replicas and its DP-th part.
"""
import torch

from common_b import attend, attention_scores, bf16, wide_cat


def oracle(ranks):
    scalars, dp = ranks[0]["scalars"], ranks[0]["params"]["DP"]
    cp = len(ranks) // dp
    total = [torch.zeros((), dtype=torch.float64)] * 3
    for first in range(0, len(ranks), cp):
        replica = ranks[first:first + cp]
        dout, q, k, v, out = (wide_cat(replica, name, 1) for name in ["dout", "q", "k", "v", "out"])
        lse = wide_cat(replica, "softmax_lse", 2)
        scale = q.shape[-1] ** -0.5 if scalars["softmax_scale"] is None else scalars["softmax_scale"]
        p = (attention_scores(q, k, scale, scalars["causal"]) - lse[..., None]).exp()
        delta = (dout * out).sum(-1).mT[..., None]
        dx = scale * p * (attention_scores(dout, v, 1.0) - delta)
        gradients = attend(dx, k), attend(dx.mT, q), attend(p.mT, dout)
        total = [bf16(t + bf16(g)) for t, g in zip(total, gradients)]
    parts = [bf16(t / dp).chunk(cp, 1) for t in total]
    return [dict(zip(["dq", "dk", "dv"], part)) for part in zip(*parts)] * dp
