# SPDX-License-Identifier: Apache-2.0
"""For each block of a row: s = max|x| / 448 and code = e4m3(x / s), with s = 1 in the division for a block of zeros.

Both divisions are IEEE fp32 ones. Codes and scales of all ranks one below the other, bit for bit.
"""

import torch
from common_a import e4m3_code, raw


def oracle(ranks):
    x = torch.cat(raw(ranks, "local_tensor")).float()
    blocks = x.reshape(len(x), -1, ranks[0]["scalars"]["block_size"])
    scale = blocks.abs().amax(2) / torch.full((), 448.0)
    code = e4m3_code(blocks / torch.where(scale == 0, 1.0, scale)[:, :, None])
    return [{"y_global": code.reshape(x.shape).view(torch.float8_e4m3fn), "s_global": scale} for _ in ranks]
