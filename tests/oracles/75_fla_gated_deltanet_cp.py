# SPDX-License-Identifier: Apache-2.0
"""Delta rule with one decay a head, exp(-e^a_log softplus(gate + dt_bias)), over all ranks' tokens in rank order.

Value head j uses query and key head j // vrep, rank r has the r-th part of the heads' a_log and dt_bias, and returns
its tokens of all heads.
"""
from torch.nn.functional import softplus

from common_b import delta_rule, normalise, wide_cat


def oracle(ranks):
    q, k, v, gate, beta = (wide_cat(ranks, name, 1) for name in ["q", "k", "v", "gate", "beta"])
    a_log, dt_bias = wide_cat(ranks, "a_log", 0), wide_cat(ranks, "dt_bias", 0)
    vrep = v.shape[2] // q.shape[2]
    q, k = (normalise(x, 1e-6).repeat_interleave(vrep, 2) for x in (q, k))
    decay = (-a_log.exp() * softplus(gate + dt_bias)).exp()[..., None]
    out = delta_rule(q * q.shape[-1] ** -0.5, k, v, decay, beta)
    return [{"out": part} for part in out.chunk(len(ranks), 1)]
