# SPDX-License-Identifier: Apache-2.0
"""y_r = silu(X[rows r] W1_r) W2_r with X = [x_0 | x_1 | ...] and rows r = r*M/W .. (r+1)*M/W - 1.

Rounded to bf16 after each product and after silu. The reduce-scatter adds zeros only.
"""

import torch
from common_a import inputs, round_bf16, silu


def oracle(ranks):
    rows = torch.cat(inputs(ranks, "x_local"), dim=1).chunk(len(ranks))
    results = []
    for x, w1, w2 in zip(rows, inputs(ranks, "W1"), inputs(ranks, "W2")):
        hidden = round_bf16(silu(round_bf16(x @ w1)))
        results.append({"y_local": round_bf16(hidden @ w2)})
    return results
