# SPDX-License-Identifier: Apache-2.0
"""Tokens by expert and rank; the host gets the whole table in one copy."""

import torch

import exchange


def run(inputs, scalars, params, team):
    mask = inputs["expert_mask"]
    counts = mask.new_empty(team.world, mask.shape[0])
    torch.sum(mask, (1, 2), out=counts[team.rank])
    exchange.all_gather(counts, counts[team.rank])
    counts = counts.cpu().view(team.world, team.world, -1)
    received = counts[:, team.rank].contiguous()
    return {"input_splits": counts[team.rank].sum(1).long(), "output_splits": received.sum(1).long(),
            "per_local_expert": received, "sum_per_local_expert": received.sum(0)}
