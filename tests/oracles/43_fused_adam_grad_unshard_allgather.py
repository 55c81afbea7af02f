# SPDX-License-Identifier: Apache-2.0
"""gathered = all ranks' parameters in rank order, after a step of Adam with each rank's own gradient and moments.

bf16 at every step.
"""
from common_b import adam, wide_cat


def oracle(ranks):
    vectors = (wide_cat(ranks, name, 0) for name in ["master_shard", "exp_avg", "exp_avg_sq", "grad_shard"])
    gathered, _, _ = adam(*vectors, ranks[0]["scalars"])
    return [{"gathered": gathered} for _ in ranks]
