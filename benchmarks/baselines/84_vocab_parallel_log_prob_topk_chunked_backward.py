# SPDX-License-Identifier: Apache-2.0
"""Gradient of problem 83: rows are differentiated in the layout in which they came, and go back in it."""

import torch

from exchange import all_to_all
from filtering import arriving_chunks, cut_and_normaliser


def gradient(parts, target, grad, top_k, top_p):
    cut, normaliser = cut_and_normaliser(parts, top_k, top_p)
    rows, words = parts.shape[1:]
    result = torch.sub(parts, normaliser).exp_().mul_(-grad[:, None])
    at = (target // words, torch.arange(rows, device=target.device), target % words)
    result[at] += grad
    return result if cut is None else result.masked_fill_(parts < cut, 0)


def run(inputs, scalars, params, team):
    logits, target, grad = inputs["logits"].flatten(0, 1), inputs["target"].view(-1), inputs["grad_output"].view(-1).float()
    out = torch.empty(logits.shape, device=logits.device)
    returns = []
    for tokens, own, parts in arriving_chunks(inputs, scalars, team):
        solved = gradient(parts, target[own], grad[own], scalars["top_k"], scalars["top_p"])
        returns.append(all_to_all(out[tokens], solved.flatten(0, 1), async_op=True))
    for work in returns:
        work.wait()
    return {"grad_logits": out.view(inputs["logits"].shape)}
