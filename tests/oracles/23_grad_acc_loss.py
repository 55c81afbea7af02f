# SPDX-License-Identifier: Apache-2.0
"""loss_sum = sum_r loss_r * n_r, normalized_loss = loss_sum / N, grad_loss_r = grad_normalized*n_r/N + grad_sum*n_r.

A rank with n_r = 0 contributes 0 whatever its loss (NaN, infinite); any other NaN spreads. Exact, without roundings.
"""

import torch
from common_a import inputs


def oracle(ranks):
    tokens = inputs(ranks, "local_valid_tokens")
    terms = [torch.zeros_like(n) if n == 0 else x * n for x, n in zip(inputs(ranks, "loss"), tokens)]
    loss_sum = sum(terms)
    results = []
    for rank, n in zip(ranks, tokens):
        given = rank["inputs"]
        total = given["global_valid_tokens"].double()
        grad = given["grad_normalized_loss"].double() * n / total + given["grad_loss_sum"].double() * n
        results.append({"normalized_loss": loss_sum / total, "loss_sum": loss_sum, "grad_loss": grad})
    return results
