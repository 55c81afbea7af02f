// SPDX-License-Identifier: Apache-2.0
//
// v = normal + a ramp from -2 to 2 along the whole sequence: a block that is missing, doubled or swapped moves every
// output.
#include <pkb/inputs.h>

#include "attention/value_ramp.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t tokens = request.param("T") / request.world;
  const at::Tensor noise =
      draws.normal("v", request.rank, {request.param("B"), tokens, request.param("H"), request.param("D")}, 0, 1);
  const at::Tensor ramp = pkb::value_ramp(tokens, request.rank, request.world, request.device);
  out["v"] = (noise + ramp).to(at::kBFloat16);
}
PKB_INPUTS(draw)
