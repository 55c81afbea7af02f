# SPDX-License-Identifier: Apache-2.0
"""total_norm = sqrt(sum of g^2 over all tensors of all ranks); every g is multiplied by max_norm / total_norm where
total_norm > max_norm, else it stays. The norm is that before clipping.
"""

from common_a import clip, raw


def oracle(ranks):
    lists = raw(ranks, "grads")
    norm = sum((g.double() ** 2).sum() for grads in lists for g in grads).sqrt()
    max_norm = ranks[0]["scalars"]["max_norm"]
    return [{"total_norm": norm, "grads": clip(grads, norm, max_norm)} for grads in lists]
