// SPDX-License-Identifier: Apache-2.0
//
// hidden_local[i] = g(i, r) * normal,  g = 2^u, u uniform in [-4, 4]: local and global mean squares differ by factors.
// Every 16th row has g = 1e-3, where eps matters. One row, another in each draw, is zero on all ranks, and one on all
// but one.
#include <pkb/inputs.h>

namespace {

/// Rows that the decisions below need; fewer rows are left as they are.
constexpr int64_t kLeastRows = 4;

void zero_two_rows(const pkb::DrawRequest& request, const pkb::Draws& draws, at::Tensor& scale) {
  const at::Tensor order = draws.permutation("rows", -1, scale.size(0));
  const int64_t kept_by = draws.integers("kept by", -1, {1}, 0, request.world - 1).item<int64_t>();
  scale[order[0].item<int64_t>()].zero_();
  if (request.rank != kept_by) scale[order[1].item<int64_t>()].zero_();
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.param("M"), columns = request.param("N");
  const at::Tensor exponent = draws.uniform("exponent", request.rank, {rows, 1}, -4, 4);
  // In fp64, so that machines whose exp2 differs in the last bit still round to the same fp32.
  at::Tensor scale = at::exp2(exponent.to(at::kDouble)).to(at::kFloat);
  scale.slice(0, 15, rows, 16).fill_(1e-3);
  if (rows >= kLeastRows) zero_two_rows(request, draws, scale);
  const at::Tensor values = draws.normal("hidden_local", request.rank, {rows, columns}, 0, 1);
  out["hidden_local"] = (values * scale).to(at::kBFloat16);
}
PKB_INPUTS(draw)
