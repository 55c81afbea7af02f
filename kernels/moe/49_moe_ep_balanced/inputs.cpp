// SPDX-License-Identifier: Apache-2.0
//
// Router and tokens; gate_bias of sigma 0.1 leaves the experts about equally popular.
#include "moe/router_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  pkb::RouterInputs(request, draws, 0.1).write(out);
}
PKB_INPUTS(draw)
