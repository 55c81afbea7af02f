# SPDX-License-Identifier: Apache-2.0
"""Delta rule with a decay per channel, exp(lower_bound sigmoid(e^a_log (g + dt_bias))), over a sequence in W/tp parts.

For even W >= 4 ranks of equal r mod 2 share a sequence, and out is the sum of the two sequences' bf16 results at the
own tokens; otherwise all ranks share one sequence.
"""
from common_b import bf16, delta_rule, normalise, wide, wide_cat


def attention(members):
    q, k, v, g, beta = (wide_cat(members, name, 1) for name in ["q", "k", "v", "g", "beta"])
    a_log, dt_bias = wide(members[0], "a_log", "dt_bias")
    gate = (a_log.exp()[:, None] * (g + dt_bias.view(q.shape[2:]))).sigmoid()
    return bf16(delta_rule(normalise(q, 1e-12) * q.shape[-1] ** -0.5, normalise(k, 1e-12), v,
                           (members[0]["scalars"]["lower_bound"] * gate).exp(), beta.sigmoid()))


def oracle(ranks):
    tp = 2 if len(ranks) % 2 == 0 and len(ranks) >= 4 else 1
    out = sum(attention(ranks[t::tp]) for t in range(tp))
    return [{"out": part} for part in out.chunk(len(ranks) // tp, 1) for _ in range(tp)]
