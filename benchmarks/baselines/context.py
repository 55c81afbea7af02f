# SPDX-License-Identifier: Apache-2.0
"""Causal attention with the tokens over the ranks of a group, in their order: keys and values of the earlier ranks are gathered."""

import torch.nn.functional as F
from exchange import all_gather
from torch.nn.attention.bias import causal_lower_right


def joined(gathered, upto):
    """rank, batch, token, ... -> batch, token, ..., of the first `upto` ranks."""
    return gathered[:upto].transpose(0, 1).flatten(1, 2)


def causal(q, k, v, scale=None):
    """The last keys belong to the queries; batch, token, head, channel."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]), scale=scale).transpose(1, 2)


def attention(x, w_qkv, w_o, heads, scale, group, members, index):
    """Projections, causal attention over the group, projection."""
    width = w_qkv.shape[0] // 3
    if members == 1:
        q, k, v = F.linear(x, w_qkv).unflatten(2, (3, heads, -1)).unbind(2)
    else:
        kv = F.linear(x, w_qkv[width:])
        gathered = kv.new_empty(members, *kv.shape)
        work = all_gather(gathered.flatten(0, 1), kv, group, async_op=True)
        q = F.linear(x, w_qkv[:width]).unflatten(2, (heads, -1))
        work.wait()
        k, v = joined(gathered, index + 1).unflatten(2, (2, heads, -1)).unbind(2)
    return F.linear(causal(q, k, v, scale).flatten(2), w_o)
