# SPDX-License-Identifier: Apache-2.0
"""y_r = A B_r with A = [A_0 | A_1 | ...], the ranks' columns side by side; B_r belongs to the rank.

Only the layout in memory (column-major) differs from problem 12; here y is [M, N] by its indices.
"""

import torch
from common_a import inputs


def oracle(ranks):
    a = torch.cat(inputs(ranks, "A_local"), dim=1)
    return [{"y": a @ b} for b in inputs(ranks, "B")]
