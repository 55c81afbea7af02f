# SPDX-License-Identifier: Apache-2.0
"""The inverse of problem 28: blocks (local expert l outer, source s inner) are put in the order s outer, l inner and go
home by output_splits; there row i, the i-th true (e, t) of routing_map, belongs to token mapping[i].

out[t] = sum of its rows times the token's weight for their expert. Exact, without the rounding of each product and sum.
"""

import torch
from common_a import all_to_all, cut, raw


def oracle(ranks):
    sent = []
    for rank in ranks:
        given = rank["inputs"]
        sizes = given["num_global_tokens_per_local_expert"]
        blocks = cut(given["expert_outputs"].double(), sizes.T.flatten().tolist())
        sources = len(sizes)
        home = torch.cat([block for source in range(sources) for block in blocks[source::sources]])
        sent.append(cut(home, given["output_splits"].tolist()))

    results = []
    for rank, rows in zip(ranks, all_to_all(sent)):
        given = rank["inputs"]
        routed = given["routing_map"].bool()
        weights = torch.zeros(routed.T.shape, dtype=torch.float64)
        weights.scatter_add_(1, given["selected_experts"], given["routing_weights"].double())
        out = torch.zeros(routed.shape[1], rows.shape[1], dtype=torch.float64)
        out.index_add_(0, given["local_input_permutation_mapping"], rows * weights.T[routed][:, None])
        results.append({"hidden_out": out})
    return results
