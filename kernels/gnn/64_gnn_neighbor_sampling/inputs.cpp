// SPDX-License-Identifier: Apache-2.0
//
// A random graph: owner, degree in 0 .. 2*degree and neighbours uniform, self loops and repeats among them; a rank has
// the rows of its own nodes alone. Seeds: distinct and scattered. Case `idle_owner`: one rank, another in each draw,
// owns no node.
#include <pkb/inputs.h>

namespace {

constexpr int64_t kStep = 7919;  // a prime that divides no number of nodes here

at::Tensor owners(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t nodes = request.param("num_nodes"), ranks = request.world;
  if (request.case_name != "idle_owner") return draws.integers("node_to_rank", -1, {nodes}, 0, ranks - 1);
  const int64_t idle = draws.integers("idle", -1, {1}, 0, ranks - 1).item<int64_t>();
  return draws.integers("node_to_rank", -1, {nodes}, idle + 1, idle + ranks - 1).remainder_(ranks);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t nodes = request.param("num_nodes"), seeds = request.param("seeds");
  const at::Tensor owner = owners(request, draws);
  const at::Tensor degree =
      draws.integers("degree", -1, {nodes}, 0, 2 * request.param("degree")).mul_(owner == request.rank);
  const at::Tensor colptr = at::zeros({nodes + 1}, degree.options());
  colptr.narrow(0, 1, nodes).copy_(degree.cumsum(0));

  const int64_t start = draws.integers("seed_nodes", -1, {1}, 0, nodes - 1).item<int64_t>() + request.rank * seeds;
  out["seed_nodes"] = at::arange(start, start + seeds, degree.options()).mul_(kStep).remainder_(nodes);
  out["colptr"] = colptr;
  out["row"] = draws.integers("row", request.rank, {degree.sum().item<int64_t>()}, 0, nodes - 1);
  out["node_to_rank"] = owner;
}
PKB_INPUTS(draw)
