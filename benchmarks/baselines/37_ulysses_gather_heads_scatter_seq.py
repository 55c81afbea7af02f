# SPDX-License-Identifier: Apache-2.0
"""From some heads of the sequence to all heads of a part of it, padded to equal parts."""

import torch
from exchange import all_to_all


def run(inputs, scalars, params, team):
    x = inputs["x"]
    length = x.shape[1]
    part = -(-length // team.world)
    if length % team.world == 0:
        sent = x.unflatten(1, (team.world, part)).movedim(1, 0).contiguous()
    else:
        whole, rest = divmod(length, part)
        sent = x.new_zeros(team.world, x.shape[0], part, *x.shape[2:])
        sent[:whole].copy_(x[:, :whole * part].unflatten(1, (whole, part)).movedim(1, 0))
        if rest:
            sent[whole, :, :rest].copy_(x[:, whole * part:])
    received = torch.empty_like(sent)
    all_to_all(received, sent)
    return {"y": received.movedim(0, 2).flatten(2, 3)}
