# SPDX-License-Identifier: Apache-2.0
"""Neighbour sampling, a hop after another. A reply has a row of fixed length for every node asked for; a table of first
places removes repeats."""

import torch

from exchange import all_to_all


def asked(inputs, frontier, fanout, team):
    """Of every frontier node its first edge and its number of picks, then the picks."""
    colptr, row = inputs["colptr"], inputs["row"]
    owner, order = inputs["node_to_rank"][frontier].sort(stable=True)
    counts = frontier.new_empty(2, team.world)
    torch.sum(owner == torch.arange(team.world, device=owner.device)[:, None], 1, out=counts[0])
    all_to_all(counts[1], counts[0])
    sent = frontier[order]
    splits, received_splits = counts.tolist()
    requests = sent.new_empty(sum(received_splits))
    all_to_all(requests, sent, received_splits, splits)

    answers = requests.new_empty(len(requests), 2 + fanout)
    first = colptr[requests]
    torch.sub(colptr[requests + 1], first, out=answers[:, 1]).clamp_(max=fanout)
    answers[:, 0] = first
    places = first[:, None] + torch.arange(fanout, device=first.device)
    answers[:, 2:] = row[places.clamp_(max=len(row) - 1)] if len(row) else 0
    received = answers.new_empty(len(sent), 2 + fanout)
    all_to_all(received, answers, splits, received_splits)
    return torch.empty_like(received).index_copy_(0, order, received)


def run(inputs, scalars, params, team):
    frontier = inputs["seed_nodes"]
    nodes, device = len(inputs["node_to_rank"]), frontier.device
    place = torch.full((nodes + 1,), torch.iinfo(torch.int64).max, device=device)
    place[frontier] = torch.arange(len(frontier), device=device)
    found, start, total = [frontier], 0, len(frontier)
    neighbours, columns, edges = [], [], []
    for fanout in scalars["fanouts"]:
        answers = asked(inputs, frontier, fanout, team)
        steps = torch.arange(fanout, device=device)
        picked = steps < answers[:, 1:2]
        # The place after the last node takes what is not an edge.
        names = answers[:, 2:].masked_fill(~picked, nodes).view(-1)
        turn = torch.arange(total, total + len(names), device=device)
        place.scatter_reduce_(0, names, turn, "amin")
        new = (place[names] == turn) & picked.view(-1)
        edge_count, new_count = torch.stack([picked.sum(), new.sum()]).tolist()
        at = torch.nonzero_static(picked.view(-1), size=edge_count).view(-1)
        neighbours.append(names[at])
        columns.append(at // fanout + start)
        edges.append((answers[:, :1] + steps).view(-1)[at])
        frontier = names[torch.nonzero_static(new, size=new_count).view(-1)]
        place[frontier] = torch.arange(total, total + new_count, device=device)
        found.append(frontier)
        start, total = total, total + new_count
    return {"node": torch.cat(found), "row_out": place[torch.cat(neighbours)], "col_out": torch.cat(columns), "edge": torch.cat(edges)}
