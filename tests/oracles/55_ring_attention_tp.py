# SPDX-License-Identifier: Apache-2.0
"""An attention layer; rank TP c + t has the c-th part of the tokens and the t-th part of the heads.

out = sum over t of the bf16 layers (projection to q, k and v, attention, output projection) of heads t.
"""
from common_b import attention_layer, wide, wide_cat


def oracle(ranks):
    tp, scalars = ranks[0]["params"]["TP"], ranks[0]["scalars"]
    out = sum(attention_layer(wide_cat(ranks[t::tp], "hidden_states", 1), *wide(ranks[t], "w_qkv", "w_o"),
                              scalars["num_heads"] // tp, scalars["softmax_scale"], scalars["causal"])
              for t in range(tp))
    return [{"out": part} for part in out.chunk(len(ranks) // tp, 1) for _ in range(tp)]
