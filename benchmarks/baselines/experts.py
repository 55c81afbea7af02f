# SPDX-License-Identifier: Apache-2.0
"""Expert-parallel layers: router, exchange of the tokens, experts, exchange back, weighted sum."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from exchange import all_gather, all_to_all


def to_host(tensor):
    """A copy on the host and a function that waits for it: for nothing that is launched after this call."""
    copy = tensor.to("cpu", non_blocking=True)
    if tensor.device.type != "cuda":
        return copy, lambda: None
    event = torch.cuda.Event()
    event.record()
    return copy, event.synchronize


def swiglu(inputs, x, which=None):
    """With the weight set `which` of several, or the only one."""
    def linear(name, x):
        weight, bias = inputs[f"{name}_proj_weight"], inputs[f"{name}_proj_bias"]
        return F.linear(x, weight, bias) if which is None else F.linear(x, weight[which], bias[which])

    return linear("down", F.silu(linear("gate", x), inplace=True).mul_(linear("up", x)))


def layer(inputs, scalars, group, expert, sets=1):
    """`expert(x, l)` on the rows of a rank's weight set l; one set serves all experts of its rank."""
    hidden, experts, k = inputs["hidden_states"], scalars["num_experts"], scalars["top_k"]
    world, rank = dist.get_world_size(group), dist.get_rank(group)
    local = experts // world
    weights, chosen = F.softmax(F.linear(hidden, inputs["gate_weight"], inputs["gate_bias"]), -1).topk(k)
    chosen = chosen.view(-1)
    counts = chosen.new_zeros(1, experts)
    counts[0].scatter_(0, chosen, 1, reduce="add")
    table = counts
    if world > 1:
        table = counts.new_empty(world, experts)
        all_gather(table, counts, group)
    table, arrived = to_host(table)
    order = chosen.argsort(stable=True)
    rows = hidden[order.div(k, rounding_mode="floor") if k > 1 else order]
    arrived()
    table = table.tolist()
    mine = [row[rank * local:(rank + 1) * local] for row in table]
    theirs = [sum(table[rank][d * local:(d + 1) * local]) for d in range(world)]
    ours = [sum(row) for row in mine]
    if world > 1:
        received = rows.new_empty(sum(ours), rows.shape[1])
        all_to_all(received, rows, ours, theirs, group)
        rows = received
    if sets == 1:
        rows = expert(rows, 0)
    else:
        by_set = [sum(row[l] for row in mine) for l in range(sets)]
        if world > 1:
            pieces = rows.split([n for row in mine for n in row])
            rows = torch.cat([piece for l in range(sets) for piece in pieces[l::sets]])
        results = [expert(x, l) for l, x in enumerate(rows.split(by_set))]
        pieces = [y.split([row[l] for row in mine]) for l, y in enumerate(results)]
        rows = torch.cat([pieces[l][s] for s in range(world) for l in range(sets)])
    if world > 1:
        returned = rows.new_empty(sum(theirs), rows.shape[1])
        all_to_all(returned, rows, theirs, ours, group)
        rows = returned
    if k == 1:
        return torch.empty_like(rows).index_copy_(0, order, rows).mul_(weights)
    by_token = torch.empty_like(rows).index_copy_(0, order, rows).view(-1, k, rows.shape[1])
    return by_token.mul_(weights.unsqueeze(-1)).sum(1)
