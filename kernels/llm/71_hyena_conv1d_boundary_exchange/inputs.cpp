// SPDX-License-Identifier: Apache-2.0
//
// x = normal + r, the last K-1 columns of each chunk times 8: a wrong halo, or one from a wrong rank, is grossly wrong.
// weight is the same on all ranks, in case own_weights another on each.
#include <pkb/inputs.h>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t channels = request.param("C"), taps = request.param("K"), length = request.param("L");
  at::Tensor x = draws.normal("x", request.rank, {request.param("B"), channels, 2, length}, request.rank, 1);
  x.narrow(-1, length - (taps - 1), taps - 1).mul_(8);
  out["x"] = x.flatten(2).to(at::kBFloat16);
  const int owner = request.case_name == "own_weights" ? request.rank : -1;
  out["weight"] = draws.normal("weight", owner, {channels, 1, taps}, 0, 1).to(at::kBFloat16);
}
PKB_INPUTS(draw)
