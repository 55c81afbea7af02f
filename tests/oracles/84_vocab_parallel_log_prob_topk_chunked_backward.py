# SPDX-License-Identifier: Apache-2.0
"""grad_logits[b,s,v] = ([v = target] - p[v]) grad_output[b,s] for the entries v that the filter keeps, 0 for the
others, with p the softmax of the filtered logits of the whole vocabulary; rank r has its slice."""

import math

from common_c import joined, kept


def oracle(ranks):
    scalars, inputs = ranks[0]["scalars"], ranks[0]["inputs"]
    logits = joined(ranks, "logits", 2).double()
    rows = logits.flatten(0, 1)
    keep = kept(rows, scalars["top_k"], scalars["top_p"])
    grad = -rows.masked_fill(~keep, -math.inf).softmax(1)
    grad[range(len(grad)), inputs["target"].flatten()] += 1
    grad = grad * keep * inputs["grad_output"].double().reshape(-1, 1)
    return [{"grad_logits": part.contiguous()} for part in grad.reshape(logits.shape).chunk(len(ranks), 2)]
