# SPDX-License-Identifier: Apache-2.0
"""Problem 82 a chunk at a time; the next chunk travels while one is filtered."""

import torch

from exchange import all_gather, all_to_all
from filtering import log_prob


def run(inputs, scalars, params, team):
    logits, target = inputs["logits"].flatten(0, 1), inputs["target"].view(-1)
    chunks = logits.split(len(inputs["logits"]) * max(1, scalars["chunk_size"]))
    out = torch.empty(len(logits), device=logits.device)

    def fetch(chunk):
        parts = torch.empty_like(chunk)
        return parts, all_to_all(parts, chunk, async_op=True)

    start, gathers = 0, []
    following = fetch(chunks[0])
    for i, chunk in enumerate(chunks):
        parts, work = following
        if i + 1 < len(chunks):
            following = fetch(chunks[i + 1])
        rows = len(chunk) // team.world
        own = target[start + team.rank * rows : start + (team.rank + 1) * rows]
        work.wait()
        solved = log_prob(parts.view(team.world, rows, -1), own, scalars["top_k"], scalars["top_p"])
        gathers.append(all_gather(out[start : start + len(chunk)], solved, async_op=True))
        start += len(chunk)
    for work in gathers:
        work.wait()
    return {"logprob": out.view(inputs["target"].shape)}
