# SPDX-License-Identifier: Apache-2.0
"""Rows of a range-sharded table, fetched and multiplied by the own matrix."""

import torch

from exchange import all_to_all


def run(inputs, scalars, params, team):
    table, ids = inputs["local_embedding_shard"], inputs["input_node_ids"]
    shard = -(-scalars["num_total_nodes"] // team.world)
    owner, order = (ids // shard).clamp_(max=team.world - 1).sort(stable=True)
    counts = ids.new_empty(2, team.world)
    torch.sum(owner == torch.arange(team.world, device=ids.device)[:, None], 1, out=counts[0])
    all_to_all(counts[1], counts[0])
    sent = ids[order]
    splits, received_splits = counts.tolist()
    requests = ids.new_empty(sum(received_splits))
    all_to_all(requests, sent, received_splits, splits)
    rows = table[requests.sub_(team.rank * shard)]
    fetched = rows.new_empty(len(ids), rows.shape[1])
    all_to_all(fetched, rows, splits, received_splits)
    return {"out": torch.empty_like(fetched).index_copy_(0, order, fetched) @ inputs["proj_matrix"]}
