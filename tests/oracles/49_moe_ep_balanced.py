# SPDX-License-Identifier: Apache-2.0
"""out[t] = sum over the top_k experts e of softmax(router(x_t))[e] * MLP_e(x_t), one expert on each rank."""
from common_b import moe


def oracle(ranks):
    return moe(ranks)
