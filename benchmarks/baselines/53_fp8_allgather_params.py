# SPDX-License-Identifier: Apache-2.0
"""Parameters gathered as 8-bit floats, with a scale a rank."""

import scaling
import torch
from exchange import all_gather


def run(inputs, scalars, params, team):
    shard = inputs["flat_param_shard"]
    count = shard.numel()
    at = -(-count // 16) * 16
    # The numbers, then their scale.
    own = torch.empty(at + 16, dtype=torch.uint8, device=shard.device)
    scale, history = scaling.quantize(shard, inputs["amax_history"], own[:count].view(torch.float8_e4m3fn))
    own[at:at + 4].view(torch.float32).copy_(scale)
    gathered = own.new_empty(team.world * own.numel())
    all_gather(gathered, own)
    gathered = gathered.view(team.world, -1)
    full = shard.new_empty(team.world, count)
    scaling.dequantize(gathered[:, :count].view(torch.float8_e4m3fn), gathered[:, at:at + 4].view(torch.float32), full)
    return {"full": full.view(-1), "updated_hist": history}
