// SPDX-License-Identifier: Apache-2.0
//
// grads[t] = (1 + r) * 2^-t * normal: no rank's own sum tells the whole. Case `equal`: one element of magnitude
// max_norm = 1 somewhere, all else zero, so that the norm is max_norm to the bit.
#include "optimizer/gradient_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t count = request.param("G");
  const std::vector<at::Tensor> grads = pkb::gradients(request, draws, "grads", count, 1 + request.rank);
  if (request.case_name == "equal") pkb::OneElement(request, draws, count).write(grads, 0, 1);
  out["grads"] = grads;
}
PKB_INPUTS(draw)
