# SPDX-License-Identifier: Apache-2.0
"""Dense and expert gradients clipped to their common norm, which is a sum over all ranks."""

import torch

import clipping


IN_PLACE = True


def run(inputs, scalars, params, team):
    dense, expert = inputs["non_ep_grads"], inputs["ep_grads"]
    if scalars["ep_size"] > 1:
        torch._foreach_mul_(expert, 1 / scalars["ep_size"])
    return {"total_norm": clipping.clip(dense + expert, scalars["max_norm"]), "non_ep_grads": dense, "ep_grads": expert}
