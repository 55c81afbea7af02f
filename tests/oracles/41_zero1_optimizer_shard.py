# SPDX-License-Identifier: Apache-2.0
"""One step of Adam on an MLP: parameters of rank 0, gradient of the mean square error over all ranks' rows.

Rank r has the moments of the r-th of W equal parts of the flat parameters. bf16 at every step.
"""
from common_b import sharded_step


# Gradients are summed over the ranks in bf16, in an order that the back end chooses; v squares what that loses.
LIMITS = {"m_part": 0.5, "v_part": 0.5}


def oracle(ranks):
    return sharded_step(ranks)
