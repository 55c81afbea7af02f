# SPDX-License-Identifier: Apache-2.0
"""Rank r sends the next counts_sent[i] rows of grad_output to rank (r + i) mod W and receives counts_received[i] from
it; grad_features[s] is the sum of the received rows j with seed_inverse_ids[j] = s, zero where there is none."""

import torch
from common_c import rotated_exchange, tensors


def oracle(ranks):
    sent, received = ([c.tolist() for c in tensors(ranks, name)] for name in ("counts_sent", "counts_received"))
    arrived = rotated_exchange(tensors(ranks, "grad_output"), sent, received)
    outputs = []
    for rank, rows in zip(ranks, arrived):
        sums = torch.zeros(int(rank["scalars"]["seed_size"]), rows.shape[1], dtype=torch.float64)
        outputs.append({"grad_features": sums.index_add_(0, rank["inputs"]["seed_inverse_ids"], rows.double())})
    return outputs
