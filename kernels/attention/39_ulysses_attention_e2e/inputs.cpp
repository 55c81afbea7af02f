// SPDX-License-Identifier: Apache-2.0
//
// w_qkv makes scores with a standard deviation of 2.25; the same on all ranks.
#include <pkb/inputs.h>

#include "attention/qkv_weights.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t width = request.param("NH") * request.param("D");
  out["w_qkv"] = pkb::qkv_weights(draws, "w_qkv", width, width, 1.5);
}
PKB_INPUTS(draw)
