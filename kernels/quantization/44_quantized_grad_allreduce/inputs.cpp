// SPDX-License-Identifier: Apache-2.0
//
// flat_grad = 2^e * normal, e a whole number in -8 .. 4 for each block of each rank; 3 % of the blocks are zero.
#include <pkb/inputs.h>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  constexpr double kZeroBlocks = 0.03;
  const int64_t n = request.param("n"), block = request.param("block"), blocks = (n + block - 1) / block;
  const int rank = request.rank;
  const at::Tensor exponent = draws.integers("exponent", rank, {blocks, 1}, -8, 4);
  const at::Tensor is_zero = draws.uniform("is zero", rank, {blocks, 1}, 0, 1) < kZeroBlocks;
  const at::Tensor scale = at::exp2(exponent.to(at::kDouble)).to(at::kFloat).masked_fill_(is_zero, 0);
  const at::Tensor values = draws.normal("flat_grad", rank, {blocks, block}, 0, 1) * scale;
  out["flat_grad"] = values.to(at::kBFloat16).view(-1).narrow(0, 0, n);
}
PKB_INPUTS(draw)
