# SPDX-License-Identifier: Apache-2.0
"""y = (silu(x W1) * (x W2)) W3 for the row block j = r // n_tp of x. The ranks with equal i = r % n_tp hold the column
block i of W1 and W2 and the row block i of W3, each of them a part of D: rows of W1 and W2, columns of W3.

bf16 after each product, silu and each rank's partial result; the partial sums of a block j are added, rounded once.
"""

import torch
from common_a import inputs, round_bf16, silu


def oracle(ranks):
    n_tp = ranks[0]["scalars"]["n_tp"]
    w1, w2, w3 = (inputs(ranks, name) for name in ("W1_shard", "W2_shard", "W3_shard"))
    parts = []
    for r, x in enumerate(inputs(ranks, "x_local")):
        i = r % n_tp
        a = round_bf16(x @ torch.cat(w1[i::n_tp]))
        b = round_bf16(x @ torch.cat(w2[i::n_tp]))
        z = round_bf16(round_bf16(silu(a)) * b)
        parts.append(round_bf16(z @ torch.cat(w3[i::n_tp], dim=1)))
    blocks = [round_bf16(sum(parts[j : j + n_tp])) for j in range(0, len(parts), n_tp)]
    return [{"y": blocks[r // n_tp]} for r in range(len(ranks))]
