# SPDX-License-Identifier: Apache-2.0
"""Problem 31 with an adapter on each of the expert's three layers: L(x) = (x W^T + b) + (x A^T) B^T, unscaled.

bf16 after each product (also the low-rank one in between), silu and addition, as the specification says.
"""

from common_a import moe, round_bf16, silu


def layer(x, tensors, name):
    base = round_bf16(x @ tensors[f"{name}_proj_weight"].T + tensors[f"{name}_proj_bias"])
    low = round_bf16(x @ tensors[f"lora_{name}_A"].T)
    return round_bf16(base + round_bf16(low @ tensors[f"lora_{name}_B"].T))


def mlp(tensors, x):
    gate = round_bf16(silu(layer(x, tensors, "gate")))
    return layer(round_bf16(gate * layer(x, tensors, "up")), tensors, "down")


def oracle(ranks):
    return moe(ranks, mlp)
