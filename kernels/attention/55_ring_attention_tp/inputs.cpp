// SPDX-License-Identifier: Apache-2.0
//
// hidden_states of cp rank c = normal + 0.5*cos(c)*d, d normal and the same for all tokens and ranks; equal within a tp
// group. w_qkv makes scores with a standard deviation of 2.5; equal within a cp group.
#include <pkb/inputs.h>

#include <cmath>

#include "attention/qkv_weights.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t parts = request.param("TP"), width = request.param("H") * request.param("D");
  const int64_t tp_rank = request.rank % parts, cp_rank = request.rank / parts;
  const int64_t tokens = request.param("T") * parts / request.world;

  const at::Tensor direction = draws.normal("direction", -1, {width}, 0, 1);
  const at::Tensor noise = draws.normal("hidden_states of cp rank " + std::to_string(cp_rank), -1,
                                        {request.param("B"), tokens, width}, 0, 1);
  out["hidden_states"] = (noise + direction * (0.5 * std::cos(static_cast<double>(cp_rank)))).to(at::kBFloat16);
  out["w_qkv"] = pkb::qkv_weights(draws, "w_qkv of tp rank " + std::to_string(tp_rank), width / parts, width, 1.6);
}
PKB_INPUTS(draw)
