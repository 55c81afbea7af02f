# SPDX-License-Identifier: Apache-2.0
"""Routed pairs (expert, token), experts outer and tokens ascending; their rows go to the ranks by input_splits, and the
blocks n[s, l] (source s, local expert l) of what arrives are put in the order l outer, s inner. A pure copy.

Besides: routing_map[e, t] = sum_k mask[e, k, t], the token of each pair, and the shape (T, H).
"""

import torch
from common_a import all_to_all, cut, raw


def oracle(ranks):
    sent, results = [], []
    for rank in ranks:
        given = rank["inputs"]
        hidden = given["hidden_states"]
        routed = given["expert_mask"].sum(1)
        tokens = routed.nonzero()[:, 1]
        sent.append(cut(hidden[tokens], given["input_splits"].tolist()))
        results.append({
            "routing_map": routed,
            "local_input_permutation_mapping": tokens,
            "org_hidden_states_shape": torch.tensor(hidden.shape),
        })
    for rank, result, rows in zip(ranks, results, all_to_all(sent)):
        sizes = rank["inputs"]["num_global_tokens_per_local_expert"]
        blocks = cut(rows, sizes.flatten().tolist())
        experts = sizes.shape[1]
        ordered = [block for local in range(experts) for block in blocks[local::experts]]
        result["global_permuted_hidden_states"] = torch.cat(ordered)
    return results
