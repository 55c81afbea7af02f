# SPDX-License-Identifier: Apache-2.0
"""One step of Adam on an MLP: parameters and moments of rank 0, gradient of the mean square error over all ranks' rows.

bf16 at every step, also each addition of the sum over ranks.
"""
from common_b import PARAMETERS, adam, cut, flat, mean_gradient, wide


# Gradients are summed over the ranks in bf16, in an order that the back end chooses; v squares what that loses.
LIMITS = {"v_W1": 0.5, "v_W2": 0.5, "v_b1": 0.5, "v_b2": 0.5}


def oracle(ranks):
    p, m, v = (flat(wide(ranks[0], *(prefix + name for name in PARAMETERS)))
               for prefix in ["", "exp_avg_", "exp_avg_sq_"])
    p, m, v = (cut(vector, ranks[0]) for vector in adam(p, m, v, mean_gradient(ranks), ranks[0]["scalars"]))
    out = {}
    for name, p_new, m_new, v_new in zip(PARAMETERS, p, m, v):
        out |= {f"{name}_new": p_new, f"m_{name}": m_new, f"v_{name}": v_new}
    return [out for _ in ranks]
