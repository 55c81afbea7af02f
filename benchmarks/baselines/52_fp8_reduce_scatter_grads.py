# SPDX-License-Identifier: Apache-2.0
"""Gradients rounded to 8-bit floats and averaged."""

import scaling
import torch
from exchange import reduce_scatter_mean


def run(inputs, scalars, params, team):
    grads = inputs["flat_grads"]
    q, rounded = torch.empty_like(grads, dtype=torch.float8_e4m3fn), torch.empty_like(grads)
    scale, history = scaling.quantize(grads, inputs["amax_history"], q)
    scaling.dequantize(q, scale, rounded)
    out = grads.new_empty(grads.numel() // team.world)
    reduce_scatter_mean(out, rounded)
    return {"out_shard": out, "updated_hist": history}
