# SPDX-License-Identifier: Apache-2.0
"""Gather rows, then exchange views of them: slot i is rank (r + i) mod W."""

from exchange import all_to_all_lists

ON_HOST = ("counts_sent", "counts_received")


def run(inputs, scalars, params, team):
    features = inputs["local_features"]
    sizes, sent_sizes = inputs["counts_sent"].tolist(), inputs["counts_received"].tolist()
    gathered = features[inputs["seed_inverse_ids"]]
    out = features.new_empty(sum(sizes), features.shape[1])
    slots = [(p - team.rank) % team.world for p in range(team.world)]
    sent, received = gathered.split(sent_sizes), out.split(sizes)
    all_to_all_lists([received[i] for i in slots], [sent[i] for i in slots])
    return {"out": out}
