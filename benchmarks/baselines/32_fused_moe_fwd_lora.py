# SPDX-License-Identifier: Apache-2.0
"""A layer of a mixture of experts with LoRA on every projection."""

import experts
import torch.nn.functional as F


def run(inputs, scalars, params, team):
    def linear(name, x):
        y = F.linear(x, inputs[f"{name}_proj_weight"], inputs[f"{name}_proj_bias"])
        return y.addmm_(F.linear(x, inputs[f"lora_{name}_A"]), inputs[f"lora_{name}_B"].t())

    def expert(x, _):
        return linear("down", F.silu(linear("gate", x), inplace=True).mul_(linear("up", x)))

    return {"out": experts.layer(inputs, scalars, None, expert)}
