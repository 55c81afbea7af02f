# SPDX-License-Identifier: Apache-2.0
"""Attention over token ranges with heads sharded: all inputs are on their way before the first range is attended,
results leave range by range."""

import torch
import torch.nn.functional as F

from exchange import all_to_all


def run(inputs, scalars, params, team):
    query, key_value = inputs["query"], inputs["key_value"]
    world, ranges = team.world, scalars["cp_shuffle_num"]
    tokens, heads, channels = query.shape
    part = tokens // ranges
    length = scalars["clip_token_nums"] or world * part
    if key_value.shape[1] < world:
        key_value = key_value.repeat_interleave(world // key_value.shape[1], 1)
    own, own_keys = heads // world, key_value.shape[1] // world

    sent_keys = key_value.view(tokens, world, -1).transpose(0, 1).contiguous()
    arrived_keys = torch.empty_like(sent_keys)
    keys_work = all_to_all(arrived_keys, sent_keys, async_op=True)
    sent = query.view(ranges, part, world, own, channels).transpose(1, 2).contiguous()
    arrived = torch.empty_like(sent)
    works = [all_to_all(arrived[i], sent[i], async_op=True) for i in range(ranges)]
    spans = inputs["k_ranges"].tolist()

    keys_work.wait()
    joined = key_value.new_empty(ranges, length, own_keys, 2 * channels)
    for source, rows in enumerate(arrived_keys.view(world, ranges, part, own_keys, 2 * channels)):
        start, end = source * part, min((source + 1) * part, length)
        if start < end:
            joined[:, start:end] = rows[:, : end - start]
    joined = joined.view(1, ranges * length, own_keys, 2 * channels).transpose(1, 2)
    keys, values = joined.split(channels, -1)
    returned = torch.empty_like(sent)
    returns = []
    for i, (start, end) in enumerate(spans):
        works[i].wait()
        attended = F.scaled_dot_product_attention(arrived[i].view(1, world * part, own, channels).transpose(1, 2), keys[:, :, start:end],
                                                  values[:, :, start:end], enable_gqa=own != own_keys)
        returns.append(all_to_all(returned[i], attended.transpose(1, 2).contiguous().view_as(sent[i]), async_op=True))
    for work in returns:
        work.wait()
    return {"out": returned.transpose(1, 2).reshape(tokens, heads, channels)}
