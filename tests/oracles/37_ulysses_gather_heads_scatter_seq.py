# SPDX-License-Identifier: Apache-2.0
"""y_r = the r-th of W parts of the tokens of all heads, which are all ranks' x joined along the heads.

Zeros follow the last token up to a multiple of W tokens.
"""
import torch

from common_b import take


def oracle(ranks):
    seq, head, world = ranks[0]["scalars"]["seq_dim"], ranks[0]["scalars"]["head_dim"], len(ranks)
    heads = torch.cat(take(ranks, "x"), head)
    shape = list(heads.shape)
    shape[seq] = -shape[seq] % world
    padded = torch.cat([heads, heads.new_zeros(shape)], seq)
    return [{"y": y} for y in padded.chunk(world, seq)]
