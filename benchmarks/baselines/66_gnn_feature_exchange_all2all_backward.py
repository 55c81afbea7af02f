# SPDX-License-Identifier: Apache-2.0
"""Rows go back to whom they came from (slot i is rank (r + i) mod W) and are added."""

from exchange import all_to_all_lists

ON_HOST = ("counts_sent", "counts_received")


def run(inputs, scalars, params, team):
    grad = inputs["grad_output"]
    sent_sizes, sizes = inputs["counts_sent"].tolist(), inputs["counts_received"].tolist()
    received = grad.new_empty(sum(sizes), grad.shape[1])
    slots = [(p - team.rank) % team.world for p in range(team.world)]
    sent, parts = grad.split(sent_sizes), received.split(sizes)
    all_to_all_lists([parts[i] for i in slots], [sent[i] for i in slots])
    out = grad.new_zeros(scalars["seed_size"], grad.shape[1])
    return {"grad_features": out.index_add_(0, inputs["seed_inverse_ids"], received)}
