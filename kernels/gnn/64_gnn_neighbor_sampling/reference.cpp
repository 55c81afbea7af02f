// SPDX-License-Identifier: Apache-2.0
//
// From the seeds, hop after hop: the owner of node v, node_to_rank[v], picks the first min(fanout, degree) neighbours
// of its row[colptr[v] ..] (fanout < 0: all); the next hop starts at those that were not met before.
// node: all nodes in the order in which they were met.   Edge e, by hop, asking node, pick: row_out[e] = place in node
// of the neighbour, col_out[e] of the one that asked, edge[e] = place in the owner's row.   i64, results per rank
#include <limits>

#include "common/owner_exchange.h"

namespace {

/// Elements of an interval each: first_i .. first_i + count_i - 1, one interval after the other.
at::Tensor intervals(const at::Tensor& first, const at::Tensor& count, int64_t total) {
  const at::Tensor shift = first - (count.cumsum(0) - count);
  return at::repeat_interleave(shift, count, 0, total).add_(at::arange(total, count.options()));
}

/// Sums of consecutive pieces.
at::Tensor piece_sums(const at::Tensor& numbers, const std::vector<int64_t>& pieces) {
  std::vector<at::Tensor> sums;
  for (const at::Tensor& piece : numbers.split_with_sizes(pieces)) sums.push_back(piece.sum());
  return at::stack(sums);
}

struct Graph {
  at::Tensor colptr, row, node_to_rank;
};

struct Hop {
  at::Tensor neighbour, source, edge;  // [picks]
};

Hop sample(const at::Tensor& source, int64_t fanout, const Graph& graph, pkb::Comm& comm) {
  const auto [order, counts] = pkb::group_by_owner(graph.node_to_rank.index_select(0, source), comm.size());
  const pkb::Splits requests = pkb::exchange_counts(counts, comm);
  const at::Tensor asked = pkb::exchange_rows(source.index_select(0, order), requests, comm.sizes());

  const at::Tensor begin = graph.colptr.index_select(0, asked);
  at::Tensor served = graph.colptr.index_select(0, asked + 1) - begin;
  if (fanout >= 0) served.clamp_max_(fanout);
  const at::Tensor picked = pkb::exchange_rows(served, requests.back(), comm.sizes());
  const std::vector<int64_t> sizes =
      pkb::host_list(at::cat({piece_sums(served, requests.received), piece_sums(picked, requests.sent)}));
  const auto middle = sizes.begin() + comm.size();
  const pkb::Splits picks{{sizes.begin(), middle}, {middle, sizes.end()}};

  const int64_t sent = std::accumulate(sizes.begin(), middle, int64_t{0});
  const int64_t received = std::accumulate(middle, sizes.end(), int64_t{0});
  const at::Tensor edge = intervals(begin, served, sent);
  const at::Tensor arrived =
      pkb::exchange_rows(at::stack({graph.row.index_select(0, edge), edge}, 1), picks, comm);  // by owner

  const at::Tensor first = at::empty_like(picked).index_copy_(0, order, picked.cumsum(0) - picked);
  const at::Tensor count = at::empty_like(picked).index_copy_(0, order, picked);
  const at::Tensor in_order = arrived.index_select(0, intervals(first, count, received));
  return {in_order.select(1, 0), at::repeat_interleave(source, count, 0, received), in_order.select(1, 1)};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& seeds = in["seed_nodes"];
  const Graph graph{in["colptr"], in["row"], in["node_to_rank"]};

  // The nodes met, repeats included, seeds in front; first_met[v]: where v stands there first.
  at::Tensor source = seeds;
  std::vector<at::Tensor> met{seeds}, sources, edges;
  int64_t length = seeds.size(0);
  const at::Tensor first_met =
      at::full(graph.node_to_rank.sizes(), std::numeric_limits<int64_t>::max(), seeds.options());
  first_met.index_copy_(0, seeds, at::arange(length, seeds.options()));
  for (const int64_t fanout : in.integers("fanouts").values) {
    const Hop hop = sample(source, fanout, graph, comm);
    const at::Tensor place = at::arange(length, length + hop.neighbour.size(0), seeds.options());
    first_met.scatter_reduce_(0, hop.neighbour, place, "amin");
    source = hop.neighbour.masked_select(first_met.index_select(0, hop.neighbour) == place);
    length += hop.neighbour.size(0);
    met.push_back(hop.neighbour);
    sources.push_back(hop.source);
    edges.push_back(hop.edge);
  }

  const at::Tensor all = at::cat(met);
  const at::Tensor place = first_met.index_select(0, all);
  const at::Tensor is_first = place == at::arange(length, all.options());
  const at::Tensor label = is_first.cumsum(0) - 1;
  return {{"node", all.masked_select(is_first)},
          {"row_out", label.index_select(0, place.slice(0, seeds.size(0)))},
          {"col_out", label.index_select(0, first_met.index_select(0, at::cat(sources)))},
          {"edge", at::cat(edges)}};
}
PKB_REFERENCE(baseline)
