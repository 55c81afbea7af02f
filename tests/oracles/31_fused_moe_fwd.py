# SPDX-License-Identifier: Apache-2.0
"""out[t] = sum over the K most probable experts e of p[t, e] * MLP_{e // (E/W)}(hidden[t]), p the softmax of a linear
router, not renormalised; MLP(x) = (silu(x Wg^T + bg) * (x Wu^T + bu)) Wd^T + bd with the owner rank's weights.

bf16 after each linear layer, silu, product and addition, as the specification says.
"""

from common_a import moe, round_bf16, silu


def linear(x, tensors, name):
    return round_bf16(x @ tensors[f"{name}_weight"].T + tensors[f"{name}_bias"])


def mlp(tensors, x):
    gate = round_bf16(silu(linear(x, tensors, "gate_proj")))
    return linear(round_bf16(gate * linear(x, tensors, "up_proj")), tensors, "down_proj")


def oracle(ranks):
    return moe(ranks, mlp)
