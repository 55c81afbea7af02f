// SPDX-License-Identifier: Apache-2.0
//
// Tables of cosines and sines: theta[b, s, j] = position * 10000^(-2j/HD), position = r*S/W + s + 7b. The upper half is
// taken at 1.25 theta, so that a kernel that reads only half a table shows. Draw d starts 1009 d positions further on.
#include <pkb/inputs.h>

void draw(const pkb::DrawRequest& request, const pkb::Draws&, pkb::DrawnInputs& out) {
  constexpr int64_t kStepOfDraws = 1009, kStepOfBatch = 7;
  constexpr double kBase = 10000, kStretch = 1.25;
  const int64_t batch = request.param("B"), width = request.param("HD"), length = request.param("S") / request.world;
  const auto options = at::TensorOptions().dtype(at::kDouble).device(request.device);

  const int64_t first = request.rank * length + kStepOfDraws * request.draw;
  const at::Tensor position =
      at::arange(first, first + length, options) + at::arange(batch, options).unsqueeze(1) * kStepOfBatch;
  const at::Tensor rate = at::pow(kBase, at::arange(width / 2, options) * (-2.0 / static_cast<double>(width)));
  const at::Tensor theta = position.unsqueeze(2) * rate;
  const at::Tensor angle = at::cat({theta, theta * kStretch}, -1);
  out["cos_local"] = angle.cos().to(at::kBFloat16);
  out["sin_local"] = angle.sin().to(at::kBFloat16);
}
PKB_INPUTS(draw)
