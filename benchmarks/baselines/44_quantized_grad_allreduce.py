# SPDX-License-Identifier: Apache-2.0
"""The mean of gradients that travel as 8-bit integers with a scale a block: parts are exchanged, averaged, and gathered."""

import math

import torch
import torch.nn.functional as F
from exchange import all_gather, all_to_all


def run(inputs, scalars, params, team):
    grad, block, world = inputs["flat_grad"], scalars["block_size"], team.world
    count = grad.numel()
    blocks = -(-count // (block * world))
    chunk = blocks * block
    padded = F.pad(grad, (0, world * chunk - count)) if world * chunk > count else grad
    x = padded.view(world, blocks, block)
    scale = torch.linalg.vector_norm(x, math.inf, -1, dtype=torch.float32).clamp_min_(1e-8).mul_(1 / 127)
    # Per rank its integers, then their scales.
    sent = torch.empty(world, chunk + 4 * blocks, dtype=torch.uint8, device=grad.device)
    sent[:, :chunk].view(torch.int8).unflatten(1, (blocks, block)).copy_(torch.div(x, scale.unsqueeze(-1)).round_())
    sent[:, chunk:].view(torch.float32).copy_(scale)
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    integers = received[:, :chunk].view(torch.int8).unflatten(1, (blocks, block))
    mean = (integers * received[:, chunk:].view(torch.float32).unsqueeze(-1)).mean(0).to(grad.dtype)
    out = grad.new_empty(world * chunk)
    all_gather(out, mean.view(-1))
    return {"mean_grad": out[:count]}
