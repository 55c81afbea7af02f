# SPDX-License-Identifier: Apache-2.0
"""PP attention layers, one after the other; rank p W/PP + c has the c-th part of the tokens in layer p.

A layer's output is its ranks' answer and the next one's input; the first reads hidden_states.
"""
from common_b import attention_layer, wide, wide_cat


def oracle(ranks):
    scalars, cp = ranks[0]["scalars"], len(ranks) // ranks[0]["params"]["PP"]
    x, results = wide_cat(ranks[:cp], "hidden_states", 1), []
    for first in range(0, len(ranks), cp):
        x = attention_layer(x, *wide(ranks[first], "w_qkv", "w_o"), scalars["num_heads"], scalars["softmax_scale"],
                            scalars["causal"])
        results += [{"stage_output": part} for part in x.chunk(cp, 1)]
    return results
