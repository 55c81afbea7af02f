# SPDX-License-Identifier: Apache-2.0
"""C[s, e] = number of choices of expert e on rank s; expert e lives on rank e // (E/W), experts r*E/W .. of rank r.

Rank r sends sum_j C[r, d*E/W + j] rows to d, gets sum_j C[s, r*E/W + j] from s, and C[s, r*E/W + j] for each expert j.
"""

import torch
from common_a import inputs


def oracle(ranks):
    counts = torch.stack([mask.sum((1, 2)) for mask in inputs(ranks, "expert_mask")])
    table = counts.reshape(len(ranks), len(ranks), -1)    # source, destination, local expert
    splits = table.sum(2).long()
    return [
        {
            "input_splits": splits[r],
            "output_splits": splits[:, r],
            "per_local_expert": table[:, r].float(),
            "sum_per_local_expert": table[:, r].sum(0).float(),
        }
        for r in range(len(ranks))
    ]
