# SPDX-License-Identifier: Apache-2.0
"""Jagged features to their owners. The sums of all bags of a feature travel first: with them on the host the rest is
copies of known sizes."""

import torch

from exchange import all_to_all

ON_HOST = ("key_splits",)


def run(inputs, scalars, params, team):
    lengths, splits, batch = inputs["lengths"], inputs["key_splits"].tolist(), scalars["batch_size"]
    features, own, world = sum(splits), splits[team.rank], team.world
    # Of every feature the number of values and of bags.
    sizes = lengths.new_full((features + world * own, 2), batch)
    torch.sum(lengths.view(features, batch), 1, out=sizes[:features, 0])
    received_sizes = sizes[features:]
    all_to_all(received_sizes, sizes[:features], [own] * world, splits)
    stride_per_rank = received_sizes[::own, 1].contiguous()
    stride = stride_per_rank.sum()
    table = sizes.tolist()
    sent, received = table[:features], table[features:]

    def exchange(tensor, column):
        """Every rank's features, then by feature."""
        outgoing, at = [], 0
        for split in splits:
            outgoing.append(sum(size[column] for size in sent[at : at + split]))
            at += split
        pieces = [size[column] for size in received]
        incoming = [sum(pieces[p * own : (p + 1) * own]) for p in range(world)]
        arrived = tensor.new_empty(sum(incoming))
        all_to_all(arrived, tensor[: sum(outgoing)], incoming, outgoing)
        parts = arrived.split(pieces)
        return torch.cat([parts[p * own + f] for f in range(own) for p in range(world)])

    weights = inputs["weights"]
    return {"lengths_out": exchange(lengths, 1), "values_out": exchange(inputs["values"], 0),
            "weights_out": None if weights is None else exchange(weights, 0), "stride": stride, "stride_per_rank": stride_per_rank}
