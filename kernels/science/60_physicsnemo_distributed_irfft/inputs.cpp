// SPDX-License-Identifier: Apache-2.0
//
// Complex normal with the variance 3/2 that the spectrum of a field N(0,1) plus noise of half its size would have. The
// columns 0 and NX/2 have no symmetry, so that it shows how the inverse treats them.
#include <pkb/inputs.h>

#include <cmath>

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t own_rows = request.param("NY") / request.world, half = request.param("NX") / 2 + 1;
  const at::Tensor pairs =
      draws.normal("x", request.rank, {request.param("B"), request.param("C"), own_rows, half, 2}, 0, std::sqrt(0.75));
  out["x"] = at::view_as_complex(pairs);
}
PKB_INPUTS(draw)
