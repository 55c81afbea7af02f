// SPDX-License-Identifier: Apache-2.0
//
// Ids: half uniform, half floor(nodes * u^3), repeats allowed. Case `own_and_foreign`: one rank, another in each draw,
// asks for its own rows alone, the next one for none of its own. Case `short_last_shard`: the rows after the last node
// are NaN.
#include <pkb/inputs.h>

#include <limits>
#include <string>

namespace {

constexpr int64_t kFine = int64_t{1} << 31;  // steps of u: a fp32 has too few for large tables

at::Tensor node_ids(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t shard) {
  const int64_t nodes = request.param("num_total_nodes"), count = request.param("num_queries");
  const int rank = request.rank;
  const auto integers = [&](const char* stream, int64_t n) { return draws.integers(stream, rank, {count}, 0, n - 1); };
  const at::Tensor even = integers("input_node_ids", nodes);
  const at::Tensor u = integers("hot", kFine).to(at::kDouble).div_(static_cast<double>(kFine));
  const at::Tensor hot = u.pow_(3).mul_(static_cast<double>(nodes)).floor_().to(at::kLong).clamp_max_(nodes - 1);
  const at::Tensor ids = at::where(integers("is hot", 2) == 1, hot, even);
  if (request.case_name != "own_and_foreign") return ids;

  const int64_t loner = draws.integers("loner", -1, {1}, 0, request.world - 1).item<int64_t>();
  const int64_t first = rank * shard, owned = std::min(shard, nodes - first);
  if (rank == loner) return ids.remainder(owned).add_(first);
  if (rank != (loner + 1) % request.world) return ids;
  const at::Tensor foreign = ids.remainder(nodes - owned);
  return at::where(foreign >= first, foreign + owned, foreign);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t nodes = request.param("num_total_nodes"), shard = (nodes + request.world - 1) / request.world;
  out["input_node_ids"] = node_ids(request, draws, shard);
  if (request.case_name != "short_last_shard") return;
  const int64_t used = std::min(shard, nodes - request.rank * shard);
  at::Tensor table = draws.normal("local_embedding_shard", request.rank, {shard, request.param("embed_dim")}, 0, 1);
  table.narrow(0, used, shard - used).fill_(std::numeric_limits<double>::quiet_NaN());
  out["local_embedding_shard"] = table.to(at::kBFloat16);
}
PKB_INPUTS(draw)
