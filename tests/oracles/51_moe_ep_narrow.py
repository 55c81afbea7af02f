# SPDX-License-Identifier: Apache-2.0
"""out[t] = sum over the top_k experts e of softmax(router(x_t))[e] * MLP_e(x_t), apart in each half of the ranks."""
from common_b import moe


def oracle(ranks):
    half = len(ranks) // 2
    return moe(ranks[:half]) + moe(ranks[half:])
