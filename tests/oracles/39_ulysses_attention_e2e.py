# SPDX-License-Identifier: Apache-2.0
"""out = softmax(q k^T D^-0.5) v w_o^T, (q, k, v) = hidden_states w_qkv^T of the whole sequence; rank r has part r.

bf16 after each product, of the scores also after the scale, and of the softmax. attn_seq = 0: each token attends over
the NH/W heads that one rank has of it, in place of each head over the tokens.
"""
import torch

from common_b import bf16, linear, wide, wide_cat


def oracle(ranks):
    params, scalars, world = ranks[0]["params"], ranks[0]["scalars"], len(ranks)
    w_qkv, = wide(ranks[0], "w_qkv")
    qkv = linear(wide_cat(ranks, "hidden_states", 1), w_qkv).unflatten(-1, (3, scalars["num_heads"], -1))
    if params["attn_seq"]:
        qkv = qkv.transpose(1, 3)                                      # b, head, 3, token, d
    else:
        qkv = qkv.unflatten(3, (world, -1)).movedim(3, 2)              # b, token, rank, 3, local head, d
    q, k, v = qkv.unbind(-3)
    scores = bf16(bf16(q @ k.mT) * q.shape[-1] ** -0.5)
    if scalars["causal"]:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    y = bf16(bf16(scores.softmax(-1)) @ v)
    z = y.transpose(1, 2).flatten(2) if params["attn_seq"] else y.flatten(2)
    return [{"out": part @ wide(rank, "w_o")[0].T} for rank, part in zip(ranks, z.chunk(world, 1))]
