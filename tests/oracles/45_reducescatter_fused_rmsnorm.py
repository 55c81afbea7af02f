# SPDX-License-Identifier: Apache-2.0
"""z = mean over ranks s of chunk r of rs_input_s, a [rows, hidden] matrix;  y = z / sqrt(mean_j z^2 + eps) * gamma.

The sum over ranks and z are rounded to bf16 (the norm is that of the rounded z), the rest is exact.
"""

import torch
from common_a import inputs, round_bf16


def oracle(ranks):
    chunks = round_bf16(sum(inputs(ranks, "rs_input"))).chunk(len(ranks))
    results = []
    for rank, chunk, gamma in zip(ranks, chunks, inputs(ranks, "gamma")):
        z = round_bf16(chunk / len(ranks)).reshape(-1, len(gamma))
        results.append({"y": z / torch.sqrt((z**2).mean(1, keepdim=True) + rank["scalars"]["eps"]) * gamma})
    return results
