# SPDX-License-Identifier: Apache-2.0
"""Every hop visits the nodes that the hop before found first (at first the seeds), in order of appearance; a node has
the first min(fanout, degree) neighbours in its owner's compressed columns. `node` lists nodes by first appearance,
row_out and col_out are places in it of an edge's neighbour and visited node, `edge` its place in the owner's row."""

import torch


def sample(graphs, seeds, owner, fanouts):
    place = {v: i for i, v in enumerate(seeds)}
    edges = []
    frontier = seeds
    for fanout in fanouts:
        found = []
        for v in frontier:
            colptr, row = graphs[owner[v]]
            first, last = colptr[v], colptr[v + 1]
            if fanout >= 0:
                last = min(last, first + fanout)
            for e in range(first, last):
                neighbour = row[e]
                if neighbour not in place:
                    place[neighbour] = len(place)
                    found.append(neighbour)
                edges.append((place[neighbour], place[v], e))
        frontier = found
    row_out, col_out, edge = torch.tensor(edges, dtype=torch.int64).reshape(-1, 3).unbind(1)
    return {"node": torch.tensor(list(place)), "row_out": row_out, "col_out": col_out, "edge": edge}


def oracle(ranks):
    inputs = [rank["inputs"] for rank in ranks]
    graphs = [(own["colptr"].tolist(), own["row"].tolist()) for own in inputs]
    return [sample(graphs, own["seed_nodes"].tolist(), own["node_to_rank"].tolist(), rank["scalars"]["fanouts"])
            for rank, own in zip(ranks, inputs)]
