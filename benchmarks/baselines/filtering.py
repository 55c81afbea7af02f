# SPDX-License-Identifier: Apache-2.0
"""Top-k and top-p filters of rows whose vocabulary lies in parts, as it arrives: [ranks, rows, words]."""

import torch

from exchange import all_to_all


def cut_and_normaliser(parts, top_k, top_p):
    """Of each row the smallest value kept (None: all are) and the logarithm of the sum of exponentials of what is kept, [rows, 1]."""
    ranks, rows, words = parts.shape
    limited, nucleus = bool(top_k and top_k > 0), top_p < 1
    if not limited and not nucleus:
        return None, parts.float().logsumexp((0, 2))[:, None]
    if limited:
        count = min(top_k, ranks * words)
        best = parts.topk(min(count, words), -1).values.transpose(0, 1).reshape(rows, -1)
        best = best.topk(count, -1).values
    else:
        best = parts.transpose(0, 1).reshape(rows, -1).sort(-1, descending=True).values
    weights = (best.float() - best[:, :1]).exp_()
    mass = weights.sum(1, keepdim=True)
    least = best[:, -1:]
    if limited:
        # All that equal the k-th are kept.
        more = ((parts == least).sum((0, 2)) - (best == least).sum(1))[:, None] * weights[:, -1:]
        mass += more
    if nucleus:
        sums = weights.cumsum(1)
        kept = sums - weights < top_p * mass
        least = best.gather(1, kept.sum(1, keepdim=True) - 1)
        mass = (weights * kept).sum(1, keepdim=True)
        if limited:
            mass += more * kept[:, -1:]
    return least, mass.log_().add_(best[:, :1])


def log_prob(parts, target, top_k, top_p):
    cut, normaliser = cut_and_normaliser(parts, top_k, top_p)
    rows, words = parts.shape[1:]
    logit = parts[target // words, torch.arange(rows, device=target.device), target % words]
    result = logit - normaliser[:, 0]
    return result if cut is None else result.masked_fill_(logit < cut[:, 0], -torch.inf)


def arriving_chunks(inputs, scalars, team):
    """Of problems 83 and 84, chunk by chunk: (its tokens, the own of these, their rows in parts). The next one travels meanwhile."""
    chunks = inputs["logits"].flatten(0, 1).split(len(inputs["logits"]) * max(1, scalars["chunk_size"]))

    def fetch(chunk):
        parts = torch.empty_like(chunk)
        return parts, all_to_all(parts, chunk, async_op=True)

    start = 0
    following = fetch(chunks[0])
    for i, chunk in enumerate(chunks):
        parts, work = following
        if i + 1 < len(chunks):
            following = fetch(chunks[i + 1])
        rows = len(chunk) // team.world
        own = slice(start + team.rank * rows, start + (team.rank + 1) * rows)
        work.wait()
        yield slice(start, start + len(chunk)), own, parts.view(team.world, rows, -1)
        start += len(chunk)
