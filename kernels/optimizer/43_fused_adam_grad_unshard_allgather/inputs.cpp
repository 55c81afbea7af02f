// SPDX-License-Identifier: Apache-2.0
//
// exp_avg_sq = 1e-3 u^2,  u uniform in [0.5, 1.5].
#include <pkb/inputs.h>

#include "optimizer/training_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  out["exp_avg_sq"] = pkb::second_moment(request, draws, "exp_avg_sq", {request.param("P")}, std::sqrt(1e-3));
}
PKB_INPUTS(draw)
