// SPDX-License-Identifier: Apache-2.0
//
// h[g, t] = normal * e^(-d t) * (2 d)^0.5,  d = 4 (1 + 7 g/(groups-1)) / filter_len: outputs have size 1, and filters
// reach over the chunks of other ranks. The same on all ranks.
#include <pkb/inputs.h>

#include <algorithm>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t groups = request.param("C") / request.param("group_dim"), taps = request.param("filter_len");
  // In fp64, so that machines whose exp differs in the last bit still round to the same bf16.
  const auto options = at::TensorOptions().dtype(at::kDouble).device(request.device);
  const at::Tensor group = at::arange(groups, options).unsqueeze(-1);
  const double last = static_cast<double>(std::max<int64_t>(groups - 1, 1));
  const at::Tensor decay = (group * (7 / last) + 1) * (4 / static_cast<double>(taps));
  const at::Tensor envelope = (at::arange(taps, options) * -decay).exp_() * (2 * decay).sqrt_();
  out["h"] = (draws.normal("h", -1, {groups, taps}, 0, 1) * envelope).to(at::kBFloat16);
}
PKB_INPUTS(draw)
