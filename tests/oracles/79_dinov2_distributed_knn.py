# SPDX-License-Identifier: Apache-2.0
"""For each of the own queries the K largest of its products with the training samples of all ranks, descending, and
the labels of these samples. sims are rounded to bf16; equal ones come by global column. Which of nearly equal samples
wins is open, so check() judges an answer by what its labels mean."""

import torch
from common_c import bf16, joined

BY_MEANING = ("top_labels",)


def similarities(ranks):
    train, labels = joined(ranks, "train_t", 1).double(), joined(ranks, "labels", 1)[0]
    return [rank["inputs"]["queries"].double() @ train for rank in ranks], labels


def oracle(ranks):
    sims, labels = similarities(ranks)
    outputs = []
    for rank, own in zip(ranks, sims):
        ordered, column = bf16(own).sort(dim=1, descending=True, stable=True)
        K = int(rank["scalars"]["max_k"])
        outputs.append({"top_sims": ordered[:, :K], "top_labels": labels[column[:, :K]]})
    return outputs


def check(ranks, got):
    sims, labels = similarities(ranks)
    order = labels.argsort()
    complaints = []
    for r, (rank, own, answer) in enumerate(zip(ranks, sims, got)):
        K = int(rank["scalars"]["max_k"])
        values, names = answer["top_sims"].double(), answer["top_labels"]
        if values.shape != (len(own), K) or names.shape != (len(own), K):
            complaints.append(f"rank {r}: shapes {tuple(values.shape)} and {tuple(names.shape)}, not {(len(own), K)}")
            continue
        best = own.sort(dim=1, descending=True).values[:, :K]
        if (values.diff(dim=1) > 0).any():
            complaints.append(f"rank {r}: sims are not descending")
        if not ((values - best).abs() <= 2e-3 + 1e-2 * best.abs()).all():
            complaints.append(f"rank {r}: sims are off by up to {(values - best).abs().max():.3g}")
        column = order[torch.searchsorted(labels[order], names.contiguous()).clamp_max(len(order) - 1)]
        if (labels[column] != names).any():
            complaints.append(f"rank {r}: a label that no sample has")
        if (names.sort(dim=1).values.diff(dim=1) == 0).any():
            complaints.append(f"rank {r}: a label twice in a row")
        meant = own.gather(1, column)
        if not ((meant - values).abs() <= 2e-3 + 4e-3 * meant.abs()).all():
            complaints.append(f"rank {r}: labels name samples {(meant - values).abs().max():.3g} off their sims")
        missing = (own > best[:, -1:] + 4e-3).scatter(1, column, False)
        if missing.any():
            complaints.append(f"rank {r}: {int(missing.sum())} clear winners are missing")
    return complaints
