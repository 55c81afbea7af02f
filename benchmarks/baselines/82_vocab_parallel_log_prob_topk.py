# SPDX-License-Identifier: Apache-2.0
"""Every rank filters the whole rows of its part of the tokens."""

import torch

from exchange import all_gather, all_to_all
from filtering import log_prob


def run(inputs, scalars, params, team):
    logits, target = inputs["logits"], inputs["target"]
    rows = target.numel() // team.world
    parts = torch.empty_like(logits).view(team.world, rows, -1)
    all_to_all(parts.flatten(0, 1), logits.flatten(0, 1))
    own = target.view(-1)[team.rank * rows : (team.rank + 1) * rows]
    out = torch.empty(target.shape, device=logits.device)
    all_gather(out.view(-1), log_prob(parts, own, scalars["top_k"], scalars["top_p"]))
    return {"logprob": out}
