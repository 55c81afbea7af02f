# SPDX-License-Identifier: Apache-2.0
"""logprob[t] = log_softmax(filtered logits[t])[target[t]]; minus infinity where the target was filtered out.

top_k keeps the k largest logits of a token and whatever equals the k-th. top_p keeps, of the softmax of what is left
and from its small end, the entries whose cumulative sum exceeds 1 - top_p, and always the largest; equal values stand
in the order of the vocabulary.
"""

import math

import torch


def keep_top_k(logits, k):
    threshold = logits.sort(dim=-1).values[..., logits.shape[-1] - k, None]
    return logits.masked_fill(logits < threshold, -math.inf)


def keep_top_p(logits, p):
    values, order = logits.sort(dim=-1, stable=True)
    kept = values.softmax(dim=-1).cumsum(dim=-1) > 1 - p
    kept[..., -1] = True
    return torch.full_like(logits, -math.inf).scatter(-1, order, values.masked_fill(~kept, -math.inf))


def oracle(ranks):
    logits = torch.cat([rank["inputs"]["logits"].double() for rank in ranks], dim=-1)
    top_k, top_p = ranks[0]["scalars"]["top_k"], ranks[0]["scalars"]["top_p"]
    if top_k:
        logits = keep_top_k(logits, min(top_k, logits.shape[-1]))
    if top_p < 1:
        logits = keep_top_p(logits, top_p)
    target = ranks[0]["inputs"]["target"]
    logprob = logits.log_softmax(dim=-1).gather(-1, target[..., None])[..., 0]
    return [{"logprob": logprob} for _ in ranks]
