# SPDX-License-Identifier: Apache-2.0
"""Rank r owns the next key_splits[r] features. It receives their bags from all ranks: lengths and values (and
weights) by feature, then source rank, then sample. stride_per_rank holds the batch sizes, stride their sum."""

import torch


def oracle(ranks):
    splits = ranks[0]["inputs"]["key_splits"].tolist()
    features = sum(splits)
    batches = [int(rank["scalars"]["batch_size"]) for rank in ranks]
    lengths = [rank["inputs"]["lengths"].reshape(features, batch) for rank, batch in zip(ranks, batches)]

    def runs(name):
        """runs[p][f]: the values of feature f on rank p."""
        return [rank["inputs"][name][: int(own.sum())].split(own.sum(1).tolist()) for rank, own in zip(ranks, lengths)]

    def arranged(pieces, own):
        return torch.cat([piece[f] for f in own for piece in pieces])

    weighted = ranks[0]["inputs"].get("weights") is not None
    values, weights = runs("values"), runs("weights") if weighted else None
    outputs = []
    for r, split in enumerate(splits):
        own = range(sum(splits[:r]), sum(splits[:r]) + split)
        outputs.append({"lengths_out": arranged(lengths, own), "values_out": arranged(values, own),
                        "weights_out": arranged(weights, own) if weighted else None,
                        "stride": torch.tensor(sum(batches)), "stride_per_rank": torch.tensor(batches)})
    return outputs
