# SPDX-License-Identifier: Apache-2.0
"""Sparse rows to the rank id mod W."""

import torch

from exchange import all_to_all


def run(inputs, scalars, params, team):
    ids, value = inputs["idx"], inputs["value"]
    owner, order = (ids % team.world).sort(stable=True)
    counts = ids.new_empty(2, team.world)
    torch.sum(owner == torch.arange(team.world, device=ids.device)[:, None], 1, out=counts[0])
    all_to_all(counts[1], counts[0])
    sent_ids, sent = ids[order], value[order]
    splits, received_splits = counts.tolist()
    received_ids = ids.new_empty(sum(received_splits))
    received = value.new_empty(len(received_ids), value.shape[1])
    all_to_all(received_ids, sent_ids, received_splits, splits)
    all_to_all(received, sent, received_splits, splits)
    return {"recv_idx": received_ids, "recv_value": received}
