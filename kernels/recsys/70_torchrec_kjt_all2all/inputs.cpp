// SPDX-License-Identifier: Apache-2.0
//
// Bag lengths 1 .. len_max, a fifth of them 0; the first feature of rank 1 is empty on all ranks, and one feature,
// another in each draw, has bags four times as long. Values use 40 bits.
#include <pkb/inputs.h>

#include <numeric>
#include <vector>

namespace {

constexpr double kEmpty = 0.2;
constexpr int64_t kLongBags = 4;

std::vector<int64_t> key_splits(const pkb::DrawRequest& request) {
  std::vector<int64_t> splits;
  for (int64_t d = 0; d < request.world; ++d) {
    splits.push_back(request.param("fmul") * (1 + (d + request.param("rotated")) % 3));
  }
  return splits;
}

/// [features, batch]
at::Tensor bag_lengths(const pkb::DrawRequest& request, const pkb::Draws& draws, const std::vector<int64_t>& splits,
                       int64_t batch) {
  const int64_t features = std::accumulate(splits.begin(), splits.end(), int64_t{0});
  const at::Tensor filled = draws.integers("lengths", request.rank, {features, batch}, 1, request.param("len_max"));
  const at::Tensor is_filled = draws.uniform("filled", request.rank, {features, batch}, 0, 1) >= kEmpty;
  const at::Tensor lengths = filled.mul_(is_filled);
  const int64_t empty = splits.front();
  const int64_t step = draws.integers("long", -1, {1}, 1, features - 1).item<int64_t>();
  lengths.select(0, (empty + step) % features).mul_(kLongBags);
  lengths.select(0, empty).zero_();
  return lengths;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  constexpr int64_t kTwenty = int64_t{1} << 20;
  const int64_t batch = std::get<int64_t>(request.scalars.at("batch_size"));
  const std::vector<int64_t> splits = key_splits(request);
  const at::Tensor lengths = bag_lengths(request, draws, splits, batch).view(-1);
  const int64_t values = lengths.sum().item<int64_t>();
  const auto bits = [&](const char* stream) { return draws.integers(stream, request.rank, {values}, 0, kTwenty - 1); };
  out["key_splits"] = at::tensor(splits, at::kLong);
  out["lengths"] = lengths;
  out["values"] = bits("high").mul_(kTwenty).add_(bits("low"));
  if (request.param("weighted") == 1) out["weights"] = draws.normal("weights", request.rank, {values}, 0, 1);
}
PKB_INPUTS(draw)
