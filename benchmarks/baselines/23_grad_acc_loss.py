# SPDX-License-Identifier: Apache-2.0
"""Loss weighted by tokens over all ranks and its gradient."""

import torch.distributed as dist


def run(inputs, scalars, params, team):
    mine, everyone = inputs["local_valid_tokens"], inputs["global_valid_tokens"]
    # A rank without tokens adds 0, whatever its loss.
    total = (inputs["loss"] * mine).masked_fill_(mine == 0, 0)
    work = dist.all_reduce(total, async_op=True)
    gradient = (inputs["grad_normalized_loss"] * mine).div_(everyone).add_(inputs["grad_loss_sum"] * mine)
    work.wait()
    return {"normalized_loss": total / everyone, "loss_sum": total, "grad_loss": gradient}
