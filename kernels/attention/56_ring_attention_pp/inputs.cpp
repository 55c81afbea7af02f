// SPDX-License-Identifier: Apache-2.0
//
// w_qkv makes scores with a standard deviation of 2.5 (6 in the second stage); equal on the ranks of a stage.
#include <pkb/inputs.h>

#include "attention/qkv_weights.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t width = request.param("H") * request.param("D");
  const int64_t stage = request.rank / (request.world / request.param("PP"));
  out["w_qkv"] = pkb::qkv_weights(draws, "w_qkv of stage " + std::to_string(stage), width, width, 1.6);
}
PKB_INPUTS(draw)
