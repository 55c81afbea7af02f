// SPDX-License-Identifier: Apache-2.0
//
// exp_avg_sq_* = (s u)^2,  u uniform in [0.5, 1.5], s the size of a gradient; on rank 0, whose values count, times
// 1e-3.
#include <pkb/inputs.h>

#include "optimizer/training_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t d_in = request.param("d_in"), hidden = request.param("hidden"), d_out = request.param("d_out");
  const double size = pkb::gradient_size(request) * (request.rank == 0 ? std::sqrt(1e-3) : 1);
  const auto add = [&](const char* name, at::IntArrayRef shape) {
    out[name] = pkb::second_moment(request, draws, name, shape, size);
  };
  add("exp_avg_sq_W1", {hidden, d_in});
  add("exp_avg_sq_b1", {hidden});
  add("exp_avg_sq_W2", {d_out, hidden});
  add("exp_avg_sq_b2", {d_out});
}
PKB_INPUTS(draw)
