// SPDX-License-Identifier: Apache-2.0
//
// g = normal - (3 + 6*h/(H-1)) for head h: a token's state decays by about 0.75 in the first head, by 0.9994 in the
// last.
#include <pkb/inputs.h>

#include <algorithm>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t heads = request.param("H");
  const at::Tensor head = at::arange(heads, at::TensorOptions().dtype(at::kDouble));
  const at::Tensor shift = (head * 6 / static_cast<double>(std::max<int64_t>(heads - 1, 1)) + 3).to(at::kFloat);
  const at::Tensor noise =
      draws.normal("g", request.rank, {request.param("B"), request.param("L"), heads, request.param("K")}, 0, 1);
  out["g"] = (noise - shift.to(request.device).unsqueeze(-1)).to(at::kBFloat16);
}
PKB_INPUTS(draw)
