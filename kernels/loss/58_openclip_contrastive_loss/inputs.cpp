// SPDX-License-Identifier: Apache-2.0
//
// image = normal + c u,  text = 0.6 image's normal + 0.6 normal + a u, each over its length; u is one normal direction.
// a depends on the rank, c on rank and draw: ranks, draws and the blocks of one loss differ by more than the tolerance.
#include <pkb/inputs.h>

namespace {

at::Tensor normalised(const at::Tensor& rows) {
  const at::Tensor length = at::linalg_vector_norm(rows, 2, {-1}, /*keepdim=*/true, at::kDouble).clamp_min_(1e-12);
  return (rows / length).to(at::kBFloat16);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t rank = request.rank, ranks = request.world, steps = ranks + 3;
  const int64_t pairs = request.param("G") / ranks, features = request.param("D");
  const double c = 0.3 + 1.2 * static_cast<double>((rank + 2 * request.draw) % steps) / static_cast<double>(steps);
  const double a = 0.4 + 1.2 * static_cast<double>(3 * rank % ranks) / static_cast<double>(ranks);

  const at::Tensor common = draws.normal("direction", -1, {features}, 0, 1);
  const at::Tensor image = draws.normal("image_features", request.rank, {pairs, features}, 0, 1);
  const at::Tensor text = draws.normal("text_features", request.rank, {pairs, features}, 0, 0.6);
  out["image_features"] = normalised(image + c * common);
  out["text_features"] = normalised(0.6 * image + text + a * common);
}
PKB_INPUTS(draw)
