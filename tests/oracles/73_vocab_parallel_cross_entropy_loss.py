# SPDX-License-Identifier: Apache-2.0
"""loss[t] = log(sum over v of exp(x[t, v] - m[t])) - (x[t, target[t]] - m[t]), m[t] the maximum over v of x[t, v].

The shifted logits are bf16(x - m), bit for bit. By definition the chain after them is bf16 too: exp, the sum of each
rank, that of all ranks and its logarithm are each rounded.
"""

import torch


def bf16(tensor):
    return tensor.bfloat16().double()


def oracle(ranks):
    logits = [rank["inputs"]["vocab_parallel_logits"] for rank in ranks]
    top = torch.cat(logits, dim=-1).float().amax(dim=-1, keepdim=True)
    shifted = [(part.float() - top).bfloat16() for part in logits]
    target = ranks[0]["inputs"]["target"]
    at_target = torch.cat(shifted, dim=-1).double().gather(-1, target[..., None])[..., 0]
    sums = [bf16(bf16(part.double().exp()).sum(dim=-1)) for part in shifted]
    loss = bf16(bf16(sum(sums)).log()) - at_target
    return [{"loss": loss, "vocab_parallel_logits": part} for part in shifted]
