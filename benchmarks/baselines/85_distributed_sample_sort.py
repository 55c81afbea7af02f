# SPDX-License-Identifier: Apache-2.0
"""Sample sort. Equal keys are told apart by rank and place, so that buckets stay even; the matrix of all counts is the
one thing the host reads, and it also says where buckets are cut into equal parts."""

import torch

from exchange import all_gather, all_to_all


def run(inputs, scalars, params, team):
    shard, world, rank = inputs["shard"], team.world, team.rank
    device, count = shard.device, len(shard)
    keys = shard.sort().values
    turn = torch.arange(1, world + 1, device=device)

    # A rank without keys sends what sorts last.
    sample = torch.full((world, 2), torch.nan, dtype=torch.float64, device=device)
    if count:
        places = (turn * count // world - 1).clamp_(min=0)
        sample[:, 0], sample[:, 1] = keys[places], places
    samples = sample.new_empty(world * world, 2)
    all_gather(samples, sample)
    values, order = samples[:, 0].sort(stable=True)
    valid = values.isnan().logical_not_().sum()
    chosen = (turn[:-1] * valid // world - 1).clamp_(min=0)
    splitter, source = values[chosen].to(shard.dtype), order[chosen] // world
    place = samples[:, 1][order[chosen]].nan_to_num_().long() + 1
    below, up_to = torch.searchsorted(keys, splitter), torch.searchsorted(keys, splitter, right=True)
    # source < rank: the splitter's equals of higher ranks come after it.
    ends = torch.where(source < rank, below, torch.where(source > rank, up_to, place)).clamp_(max=count)
    edges = torch.cat([ends.new_zeros(1), ends, ends.new_full((1,), count)])
    counts = ends.new_empty(world * world)
    all_gather(counts, edges.diff())
    counts = counts.view(world, world).tolist()

    received = shard.new_empty(sum(row[rank] for row in counts))
    all_to_all(received, keys, [row[rank] for row in counts], counts[rank])
    bucket = received.sort().values
    sizes = [sum(row[d] for row in counts) for d in range(world)]
    each, more = divmod(sum(sizes), world)
    bounds = [d * each + min(d, more) for d in range(world + 1)]
    starts = [sum(sizes[:d]) for d in range(world + 1)]

    def common(bucket_of, part_of):
        return max(0, min(starts[bucket_of + 1], bounds[part_of + 1]) - max(starts[bucket_of], bounds[part_of]))

    out = shard.new_empty(bounds[rank + 1] - bounds[rank])
    all_to_all(out, bucket, [common(p, rank) for p in range(world)], [common(rank, p) for p in range(world)])
    return {"sorted": out}
