# SPDX-License-Identifier: Apache-2.0
"""y_r = the r-th of W parts of the heads of the whole sequence, which is all ranks' x joined along the tokens.

If unpadded_dim_size is positive and no multiple of W, only so many tokens are kept.
"""
import torch

from common_b import take


def oracle(ranks):
    scalars, world = ranks[0]["scalars"], len(ranks)
    sequence, size = torch.cat(take(ranks, "x"), scalars["seq_dim"]), scalars["unpadded_dim_size"] or 0
    if size > 0 and size % world:
        sequence = sequence.narrow(scalars["seq_dim"], 0, size)
    return [{"y": y} for y in sequence.chunk(world, scalars["head_dim"])]
