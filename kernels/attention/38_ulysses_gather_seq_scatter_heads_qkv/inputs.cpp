// SPDX-License-Identifier: Apache-2.0
//
// normal(0, 1), and NaN in the tokens from unpadded_dim_size on: they must not be seen in any result.
#include <pkb/inputs.h>

#include "attention/padded_tokens.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t width = 3 * request.param("NH") * request.param("D");
  at::Tensor qkv =
      draws.normal("qkv", request.rank, {request.param("B"), request.param("T"), width}, 0, 1).to(at::kBFloat16);
  pkb::poison_padding(request, qkv);
  out["qkv"] = qkv;
}
PKB_INPUTS(draw)
