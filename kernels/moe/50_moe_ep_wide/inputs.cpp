// SPDX-License-Identifier: Apache-2.0
//
// Router and tokens; gate_bias of sigma 0.5 makes some experts popular. The last expert has no token, and in case
// `idle_rank` none of the last rank has any.
#include "moe/router_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t own = request.param("EPR"), silent = request.case_name == "idle_rank" ? own : 1;
  pkb::RouterInputs(request, draws, 0.5, {own * request.world - silent, silent}).write(out);
}
PKB_INPUTS(draw)
