// SPDX-License-Identifier: Apache-2.0
//
// X_hat = bf16(sqrt(H) * bf16(z / (|z| + 1e-5))),  z a row of bf16 normals: rows of rms 1, as a layer norm makes them.
#include <pkb/inputs.h>

#include <cmath>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rows = request.param("B"), columns = request.param("H");
  const at::Tensor z = draws.normal("X_hat", request.rank, {rows, columns}, 0, 1).to(at::kBFloat16).to(at::kFloat);
  // In fp64, so that the order of the sum does not show.
  const at::Tensor norm = at::linalg_vector_norm(z, 2, {-1}, /*keepdim=*/true, at::kDouble);
  const at::Tensor unit = (z / (norm + 1e-5)).to(at::kBFloat16);
  out["X_hat"] = (unit.to(at::kFloat) * std::sqrt(static_cast<double>(columns))).to(at::kBFloat16);
}
PKB_INPUTS(draw)
