# SPDX-License-Identifier: Apache-2.0
"""An attention block, its heads over the ranks between two exchanges, its tokens outside."""

import torch
import torch.nn.functional as F
from exchange import all_to_all


def run(inputs, scalars, params, team):
    x, heads = inputs["hidden_states"], scalars["num_heads"]
    sent = F.linear(x, inputs["w_qkv"]).unflatten(2, (3, team.world, heads // team.world, -1)).movedim(3, 0).contiguous()
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    # rank, batch, token, of qkv, head, channel -> of qkv, batch, token, head, channel
    q, k, v = received.permute(3, 1, 0, 2, 4, 5).flatten(2, 3).transpose(2, 3).unbind()
    if params["attn_seq"]:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=scalars["causal"]).transpose(1, 2)
    else:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
    sent = y.unflatten(1, (team.world, -1)).movedim(1, 0).contiguous()
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    return {"out": F.linear(received.movedim(0, 2).flatten(2), inputs["w_o"])}
