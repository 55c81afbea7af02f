// SPDX-License-Identifier: Apache-2.0
//
// x: normal(0, 1) with a number of rows that the draw decides. The lengths M*(W+1)/(2*W) .. M*(3*W-1)/(2*W), in equal
// steps, go to the ranks in random order. In the cases one rank has no row, or all of them (never the last rank, so
// that it is known whose data matter), lengths are M and M - 1, or anything up to 2*M with a sum that is not W*M.
#include <pkb/inputs.h>

namespace {

/// [W] on the CPU, the same on all ranks.
at::Tensor ragged(const pkb::Draws& draws, int64_t ranks, int64_t mean) {
  const at::Tensor place = draws.permutation("lengths", -1, ranks).cpu();
  return (2 * place - (ranks - 1)) * (mean / (2 * ranks)) + mean;
}

at::Tensor any_but_the_last(const pkb::Draws& draws, int64_t ranks) {
  return draws.integers("chosen", -1, {1}, 0, ranks - 2).cpu();
}

at::Tensor other_sum(const pkb::Draws& draws, int64_t ranks, int64_t mean) {
  at::Tensor lengths = draws.integers("lengths", -1, {ranks}, 0, 2 * mean).cpu();
  if (lengths.sum().item<int64_t>() == ranks * mean)
    lengths.index_add_(0, lengths.argmin(0, true), at::ones({1}, at::kLong));
  return lengths;
}

at::Tensor lengths(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t ranks = request.world, mean = request.param("M");
  if (request.custom("x") == "empty_rank") {
    return ragged(draws, ranks, mean).index_fill_(0, any_but_the_last(draws, ranks), 0);
  }
  if (request.custom("x") == "one_rank_has_all") {
    return at::zeros({ranks}, at::kLong).index_fill_(0, any_but_the_last(draws, ranks), ranks * mean);
  }
  if (request.custom("x") == "nearly_equal") {
    return mean - (draws.permutation("lengths", -1, ranks).cpu() < ranks / 2).to(at::kLong);
  }
  if (request.custom("x") == "other_sum") return other_sum(draws, ranks, mean);
  return ragged(draws, ranks, mean);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = lengths(request, draws)[request.rank].item<int64_t>(), width = request.param("N");
  std::vector<int64_t> shape{rows, width};
  if (request.param("axes") == 1) shape = {rows};
  if (request.param("axes") == 3) shape = {rows, 2, width / 2};
  out["x"] = draws.normal("x", request.rank, shape, 0, 1).to(at::kBFloat16);
}
PKB_INPUTS(draw)
