# SPDX-License-Identifier: Apache-2.0
"""out_shard of rank r = the r-th of W parts of the mean over ranks of their gradients, each first through scaled fp8.

updated_hist is the rank's own history, moved down by one, with the largest magnitude at its end. The mean is rounded
to bf16 after the sum and at the end.
"""
from common_b import bf16, delayed_scaling


def oracle(ranks):
    trips = [delayed_scaling(rank["inputs"]["flat_grads"], rank["inputs"]["amax_history"]) for rank in ranks]
    mean = bf16(bf16(sum(x.double() for x, _ in trips)) / len(ranks))
    return [{"out_shard": part, "updated_hist": hist} for part, (_, hist) in zip(mean.chunk(len(ranks)), trips)]
