# SPDX-License-Identifier: Apache-2.0
"""Rank r gathers rows local_features[seed_inverse_ids[j]] and sends the next counts_received[i] of them to rank (r +
i) mod W; out joins counts_sent[i] rows from rank (r + i) mod W, i = 0 .. W-1. (The counts are named after the
exchange of the ids, which went the other way.)"""

from common_c import rotated_exchange, tensors


def oracle(ranks):
    gathered = [rows[ids] for rows, ids in zip(tensors(ranks, "local_features"), tensors(ranks, "seed_inverse_ids"))]
    sent, received = ([c.tolist() for c in tensors(ranks, name)] for name in ("counts_received", "counts_sent"))
    return [{"out": rows} for rows in rotated_exchange(gathered, sent, received)]
