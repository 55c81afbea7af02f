// SPDX-License-Identifier: Apache-2.0
//
// rs_input = 10^e * normal, e uniform in [-3, -1] for each row of each chunk, the same on all ranks: the mean squares
// lie on both sides of eps.
#include <pkb/inputs.h>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.world * request.param("rows"), hidden = request.param("hidden");
  const at::Tensor exponent = draws.uniform("exponent", -1, {rows, 1}, -3, -1);
  // In fp64, so that machines whose pow differs in the last bit still round to the same fp32.
  const at::Tensor scale = at::pow(10, exponent.to(at::kDouble)).to(at::kFloat);
  const at::Tensor values = draws.normal("rs_input", request.rank, {rows, hidden}, 0, 1);
  out["rs_input"] = (values * scale).to(at::kBFloat16).view(-1);
}
PKB_INPUTS(draw)
