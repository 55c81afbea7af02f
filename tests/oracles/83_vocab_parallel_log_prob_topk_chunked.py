# SPDX-License-Identifier: Apache-2.0
"""logprob[b,s] = log_softmax(filtered logits)[target], where the filter sets all but the kept entries of the token's
row (over the vocabulary of all ranks) to -inf. Chunks do not change the function."""

import math

from common_c import joined, kept


def oracle(ranks):
    scalars, target = ranks[0]["scalars"], ranks[0]["inputs"]["target"]
    logits = joined(ranks, "logits", 2).double().flatten(0, 1)
    filtered = logits.masked_fill(~kept(logits, scalars["top_k"], scalars["top_p"]), -math.inf)
    logprob = filtered.log_softmax(1).gather(1, target.reshape(-1, 1)).reshape(target.shape)
    return [{"logprob": logprob} for _ in ranks]
