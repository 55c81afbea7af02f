# SPDX-License-Identifier: Apache-2.0
"""Load-balancing loss of a mixture of experts."""

import torch
import torch.distributed as dist


def run(inputs, scalars, params, team):
    weights = torch.softmax(inputs["gate_logits"], -1)
    experts = weights.shape[-1]
    _, chosen = torch.topk(weights, scalars["top_k"])
    mask = torch.zeros(weights.shape, dtype=torch.float32, device=weights.device).scatter_(-1, chosen, 1)
    loss = experts * (mask.mean(0) * weights.mean(0)).sum()
    dist.all_reduce(loss)
    return {"loss": loss / team.world}
