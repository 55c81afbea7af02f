// SPDX-License-Identifier: Apache-2.0
//
// exp_avg_sq_part = 1e-3 (s u)^2,  u uniform in [0.5, 1.5], s the size of a gradient.
#include <pkb/inputs.h>

#include "optimizer/training_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  out["exp_avg_sq_part"] = pkb::second_moment_part(request, draws, "exp_avg_sq_part");
}
PKB_INPUTS(draw)
