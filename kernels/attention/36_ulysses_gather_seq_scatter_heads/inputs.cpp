// SPDX-License-Identifier: Apache-2.0
//
// normal(0, 1), and NaN in the tokens from unpadded_dim_size on: they must not be seen in any result.
#include <pkb/inputs.h>

#include "attention/padded_tokens.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const std::vector<int64_t> shape{request.param("B"), request.param("T"), request.param("NH"), request.param("D")};
  at::Tensor x = draws.normal("x", request.rank, shape, 0, 1).to(at::kBFloat16);
  pkb::poison_padding(request, x);
  out["x"] = x;
}
PKB_INPUTS(draw)
