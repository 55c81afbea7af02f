# SPDX-License-Identifier: Apache-2.0
"""A gated perceptron, its weights sharded over one axis of the ranks and gathered, its hidden values split over the other."""

import torch.distributed as dist
import torch.nn.functional as F
from exchange import Together, all_gather


def run(inputs, scalars, params, team):
    x, w1, w2, w3 = (inputs[name] for name in ("x_local", "W1_shard", "W2_shard", "W3_shard"))
    tp, fsdp = scalars["n_tp"], scalars["n_fsdp"]
    by_tp = team.group_of([[j * tp + i for i in range(tp)] for j in range(fsdp)])
    by_fsdp = team.group_of([[j * tp + i for j in range(fsdp)] for i in range(tp)])
    arrived = None
    if fsdp > 1:
        shards = (w1, w2, w3)
        w1, w2 = (w.new_empty(fsdp * w.shape[0], w.shape[1]) for w in (w1, w2))
        with Together(team.device, by_fsdp):
            all_gather(w1, shards[0], by_fsdp)
            all_gather(w2, shards[1], by_fsdp)
        w3 = w3.new_empty(fsdp, *w3.shape)
        arrived = all_gather(w3.flatten(0, 1), shards[2], by_fsdp, async_op=True)
    z = F.silu(x @ w1, inplace=True).mul_(x @ w2)
    if arrived:
        arrived.wait()
        w3 = w3.transpose(0, 1).flatten(1)
    y = z @ w3
    if tp > 1:
        dist.all_reduce(y, group=by_tp)
    return {"y": y}
