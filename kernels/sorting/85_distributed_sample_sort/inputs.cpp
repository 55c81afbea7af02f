// SPDX-License-Identifier: Apache-2.0
//
// Keys: half random bf16 patterns (finite, no -0), a quarter one value that all ranks share, a quarter normal(r, 1).
// Cases `sorted` and `descending`: the keys of all ranks in that order, cut into shards; `constant`: the shared value
// alone. The other cases change the lengths.
#include <pkb/inputs.h>

#include <string>
#include <vector>

namespace {

/// n of the 65536 patterns, infinities and NaN excepted.
at::Tensor finite_patterns(const pkb::Draws& draws, int rank, int64_t n) {
  const at::Tensor bits = draws.integers("pattern", rank, {n}, 0, 0xffff);
  const at::Tensor exponent_is_full = bits.bitwise_and(0x7f80) == 0x7f80;
  return at::where(exponent_is_full, bits.bitwise_and(0xbfff), bits).to(at::kShort).view(at::kBFloat16);
}

at::Tensor shared_key(const pkb::Draws& draws) {
  return draws.normal("shared", -1, {1}, 0, 1).to(at::kBFloat16);
}

at::Tensor keys_of(const pkb::Draws& draws, int rank, int64_t n) {
  const at::Tensor u = draws.uniform("kind", rank, {n}, 0, 1);
  const at::Tensor near_rank = draws.normal("shard", rank, {n}, rank, 1).to(at::kBFloat16);
  const at::Tensor keys =
      at::where(u < 0.5, finite_patterns(draws, rank, n), at::where(u < 0.75, shared_key(draws), near_rank));
  return keys.masked_fill(keys == 0, 0);
}

/// Shard lengths by the parameter `lengths`: equal, a ramp, rank 1 empty, all on the last rank.
int64_t length_of(const pkb::DrawRequest& request, int64_t r) {
  const int64_t elements = request.param("NT"), ranks = request.world;
  switch (request.param("lengths")) {
    case 1:
      return 2 * elements * (r + 1) / (ranks * (ranks + 1));
    case 2:
      return r == 1 ? 0 : elements / ranks;
    case 3:
      return r == ranks - 1 ? elements : 0;
    default:
      return elements / ranks;
  }
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const std::string& name = request.case_name;
  const int64_t own = length_of(request, request.rank);
  if (name == "constant") {
    out["shard"] = shared_key(draws).expand({own}).contiguous();
    return;
  }
  if (name != "sorted" && name != "descending") {
    out["shard"] = keys_of(draws, request.rank, own);
    return;
  }
  std::vector<at::Tensor> shards;
  for (int r = 0; r < request.world; ++r) shards.push_back(keys_of(draws, r, length_of(request, r)));
  const at::Tensor all = std::get<0>(at::cat(shards).sort(/*dim=*/0, /*descending=*/name == "descending"));
  out["shard"] = all.narrow(0, own * request.rank, own).clone();
}
PKB_INPUTS(draw)
