# SPDX-License-Identifier: Apache-2.0
"""Experts' gradients become bf16(g / E), E = ep_size; total_norm = sqrt(sum of squares of all tensors of all ranks);
where total_norm > max_norm every g is multiplied by max_norm / total_norm.

The groups ep and ep_fsdp tile the world: their two sums are one over all ranks.
"""

import torch
from common_a import clip, raw, round_bf16


def oracle(ranks):
    scalars = ranks[0]["scalars"]
    factor = torch.tensor(1 / scalars["ep_size"]).double()
    dense = raw(ranks, "non_ep_grads")
    experts = [[round_bf16(g.double() * factor) for g in grads] for grads in raw(ranks, "ep_grads")]
    norm = sum((g.double() ** 2).sum() for lists in (dense, experts) for grads in lists for g in grads).sqrt()
    dense, experts = ([clip(grads, norm, scalars["max_norm"]) for grads in lists] for lists in (dense, experts))
    return [{"total_norm": norm, "non_ep_grads": a, "ep_grads": b} for a, b in zip(dense, experts)]
