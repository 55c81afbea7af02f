// SPDX-License-Identifier: Apache-2.0
//
// Router and tokens; gate_bias of sigma 0.5 makes some experts popular. Cases: an expert, or a rank, without tokens.
#include "moe/router_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  pkb::RouterInputs(request, draws, 0.5, pkb::silent_in_case(request, draws)).write(out);
}
PKB_INPUTS(draw)
