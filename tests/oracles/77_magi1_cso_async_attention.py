# SPDX-License-Identifier: Apache-2.0
"""For each of R token ranges i: softmax attention of its queries over the keys k_ranges[i] of all ranges in order.

A range is the ranks' i-th parts joined in rank order; of its keys only the first clip_token_nums count. Query head j
of the Hq/W heads of a rank uses key and value head floor(j hk / hq) of the rank's hk (kv heads doubled if too few).
"""
import torch

from common_b import attention


def oracle(ranks):
    world, scalars = len(ranks), ranks[0]["scalars"]
    count = scalars["cp_shuffle_num"]
    query, key_value = (torch.cat([rank["inputs"][name].double().unflatten(0, (count, -1)) for rank in ranks], 1)
                        for name in ["query", "key_value"])
    keys = key_value[:, :scalars["clip_token_nums"] or None].flatten(0, 1)
    keys = keys.repeat_interleave(max(1, world // keys.shape[1]), 1)
    keys = keys.repeat_interleave(query.shape[2] // keys.shape[1], 1)
    k, v = keys.chunk(2, -1)
    out = torch.cat([attention(q[None], k[None, first:last], v[None, first:last])
                     for q, (first, last) in zip(query, ranks[0]["inputs"]["k_ranges"].tolist())])
    return [{"out": part.flatten(0, 1)} for part in out.chunk(world, 1)]
