# SPDX-License-Identifier: Apache-2.0
"""y_r = of each of q, k and v, packed on the last axis, the r-th of W parts, for the whole sequence.

The sequence is all ranks' qkv joined along the tokens. If unpadded_dim_size is positive and no multiple of W, only so
many tokens are kept; restore_shape packs the three parts on one axis again.
"""
import torch

from common_b import take


def oracle(ranks):
    scalars, world = ranks[0]["scalars"], len(ranks)
    sequence, size = torch.cat(take(ranks, "qkv"), scalars["seq_dim"]), scalars["unpadded_dim_size"] or 0
    if size > 0 and size % world:
        sequence = sequence.narrow(scalars["seq_dim"], 0, size)
    parts = sequence.unflatten(-1, (3, world, -1)).unbind(-2)
    return [{"y": part.flatten(-2) if scalars["restore_shape"] else part} for part in parts]
