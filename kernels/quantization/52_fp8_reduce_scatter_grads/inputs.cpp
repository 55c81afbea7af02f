// SPDX-License-Identifier: Apache-2.0
#include "quantization/delayed_scaling_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  delayed_scaling::draw(request, draws, "flat_grads", request.world * request.param("P"), out);
}
PKB_INPUTS(draw)
