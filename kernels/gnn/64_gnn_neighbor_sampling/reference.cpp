// SPDX-License-Identifier: Apache-2.0
//
// From the seeds, hop after hop: the owner of node v, node_to_rank[v], picks the first min(fanout, degree) neighbours
// of its row[colptr[v] ..]; the next hop starts at those that were not met before.
// node: all nodes in the order in which they were met.   Edge e, by hop, asking node, pick: row_out[e] = place in node
// of the neighbour, col_out[e] of the one that asked, edge[e] = place in the owner's row.   i64, results per rank
#include <limits>

#include "common/owner_exchange.h"

namespace {

struct Graph {
  at::Tensor colptr, row, node_to_rank;
};

/// What the owner says of each node: its first edge, how many of its edges are picked, and `fanout` neighbours, of
/// which those count. A fixed length spares an exchange of sizes.
at::Tensor answers(const at::Tensor& nodes, int64_t fanout, const Graph& graph) {
  const at::Tensor first = graph.colptr.index_select(0, nodes), end = graph.colptr.index_select(0, nodes + 1);
  const at::Tensor rows = at::zeros({nodes.size(0), 2 + fanout}, nodes.options());
  rows.select(1, 0).copy_(first);
  rows.select(1, 1).copy_((end - first).clamp_max_(fanout));
  if (graph.row.size(0) == 0) return rows;
  const at::Tensor places = first.unsqueeze(1) + at::arange(fanout, nodes.options());
  rows.narrow(1, 2, fanout).copy_(graph.row.take(places.clamp_max_(graph.row.size(0) - 1)));
  return rows;
}

/// The owners' answers, in the order of `nodes`.
at::Tensor ask_owners(const at::Tensor& nodes, int64_t fanout, const Graph& graph, pkb::Comm& comm) {
  const auto [order, counts] = pkb::group_by_owner(graph.node_to_rank.index_select(0, nodes), comm.size());
  const pkb::ArrivingSplits counted(counts, comm);
  const at::Tensor by_owner = nodes.index_select(0, order);
  const pkb::Splits requests = counted.read();
  const at::Tensor asked = pkb::exchange_rows(by_owner, requests, comm.sizes());
  const at::Tensor arrived = pkb::exchange_rows(answers(asked, fanout, graph), requests.back(), comm);
  return at::empty_like(arrived).index_copy_(0, order, arrived);
}

/// Where a flat mask is set; how often is known.
at::Tensor set_places(const at::Tensor& mask, int64_t count) {
  return at::nonzero_static(mask, count).view(-1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& seeds = in["seed_nodes"];
  const Graph graph{in["colptr"], in["row"], in["node_to_rank"]};
  const int64_t nodes = graph.node_to_rank.size(0);
  const auto from = [&](int64_t first, int64_t count) { return at::arange(first, first + count, seeds.options()); };

  // label[v]: the place of v in `node` once it has one. Within a hop, a new v's first place among the hop's picks,
  // behind all labels; the entry after the last node is for what is not a pick.
  const at::Tensor label = at::full({nodes + 1}, std::numeric_limits<int64_t>::max(), seeds.options());
  int64_t first = 0, length = seeds.size(0);  // the nodes that ask, in `node`
  label.index_copy_(0, seeds, from(0, length));
  at::Tensor asking = seeds;
  std::vector<at::Tensor> met{seeds}, neighbours, sources, edges;
  for (const int64_t fanout : in.integers("fanouts").values) {
    TORCH_CHECK(fanout > 0, "a fanout is ", fanout, ": all neighbours are asked for by a bound of their number");
    const at::Tensor answer = ask_owners(asking, fanout, graph, comm);
    const at::Tensor pick = at::arange(fanout, seeds.options()), is_pick = pick < answer.narrow(1, 1, 1);
    const at::Tensor names = answer.narrow(1, 2, fanout).masked_fill(is_pick.logical_not(), nodes).flatten();
    const at::Tensor turn = from(length, names.size(0));
    label.scatter_reduce_(0, names, turn, "amin");
    const at::Tensor is_new = (label.index_select(0, names) == turn).logical_and_(is_pick.flatten());
    const std::vector<int64_t> counts = pkb::host_list(at::stack({is_pick.sum(), is_new.sum()}));

    const at::Tensor picked = set_places(is_pick.flatten(), counts[0]);
    neighbours.push_back(names.index_select(0, picked));
    sources.push_back(picked.floor_divide(fanout).add_(first));
    edges.push_back((answer.narrow(1, 0, 1) + pick).flatten().index_select(0, picked));
    asking = names.index_select(0, set_places(is_new, counts[1]));
    label.index_copy_(0, asking, from(length, counts[1]));
    met.push_back(asking);
    first = length;
    length += counts[1];
  }
  return {{"node", at::cat(met)},
          {"row_out", label.index_select(0, at::cat(neighbours))},
          {"col_out", at::cat(sources)},
          {"edge", at::cat(edges)}};
}
PKB_REFERENCE(baseline)
