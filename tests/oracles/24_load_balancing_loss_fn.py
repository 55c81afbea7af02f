# SPDX-License-Identifier: Apache-2.0
"""L_r = E * sum_e f[e] * p[e]: f the tokens that choose e (K largest probabilities, lower expert among equals) over M,
p the mean probability of e. loss = mean of L_r over the ranks.

Probabilities are rounded to bf16 before the choice, p after the mean.
"""

import torch
from common_a import choose, inputs, round_bf16


def oracle(ranks):
    losses = []
    for logits in inputs(ranks, "gate_logits"):
        tokens, experts = logits.shape
        weights = round_bf16(torch.softmax(logits, 1))
        _, chosen = choose(weights, ranks[0]["scalars"]["top_k"])
        fraction = torch.bincount(chosen.flatten(), minlength=experts) / tokens
        losses.append(experts * (fraction.double() * round_bf16(weights.mean(0))).sum())
    return [{"loss": sum(losses) / len(ranks)} for _ in ranks]
