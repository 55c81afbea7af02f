// SPDX-License-Identifier: Apache-2.0
//
// idx uniform below num_nodes; moved to owner r + 1 with probability 0.4 and to owner 0 with 0.2. Case
// `no_last_owner`: rank 0 names no id of owner W - 1; `one_owner`: all ids are owner 0's.
#include <pkb/inputs.h>

#include <string>

namespace {

/// The nearest ids below or above that belong to `owner`.
at::Tensor moved(const at::Tensor& ids, int64_t owner, int64_t ranks, int64_t nodes) {
  const at::Tensor there = ids - ids.remainder(ranks) + owner;
  return at::where(there < nodes, there, there - ranks);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t nodes = request.param("num_nodes"), ranks = request.world, rank = request.rank;
  const int64_t pairs = request.param("nnz") - request.param("taper") * (rank * request.param("nnz") / 16);
  const std::string& name = request.case_name;
  const at::Tensor anywhere = draws.integers("idx", request.rank, {pairs}, 0, nodes - 1);
  const at::Tensor u = draws.uniform("owner", request.rank, {pairs}, 0, 1);
  at::Tensor idx = at::where(u < 0.4, moved(anywhere, (rank + 1) % ranks, ranks, nodes), anywhere);
  idx = at::where(u >= 0.8, moved(anywhere, 0, ranks, nodes), idx);
  if (name == "one_owner") idx = moved(anywhere, 0, ranks, nodes);
  if (name == "no_last_owner" && rank == 0) {
    idx = at::where(idx.remainder(ranks) == ranks - 1, moved(idx, ranks - 2, ranks, nodes), idx);
  }
  out["idx"] = idx;
}
PKB_INPUTS(draw)
