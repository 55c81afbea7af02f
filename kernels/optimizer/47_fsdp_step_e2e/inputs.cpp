// SPDX-License-Identifier: Apache-2.0
//
// flat_param_shard = part r of one normal vector, with sigma d_in^-0.5 in W1, hidden^-0.5 in W2 and 0.1 in b1 and b2.
// exp_avg_sq_shard = 1e-3 (s u)^2,  u uniform in [0.5, 1.5], s the size of a gradient.
#include <pkb/inputs.h>

#include <algorithm>

#include "optimizer/training_inputs.h"

namespace {

struct Stretch {
  int64_t length;
  double sigma;
};

at::Tensor parameters(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const auto [d_in, hidden, d_out] = pkb::mlp_shape(request);
  const double into_hidden = 1 / std::sqrt(static_cast<double>(d_in)), out = 1 / std::sqrt(static_cast<double>(hidden));
  const Stretch stretches[] = {{hidden * d_in, into_hidden}, {hidden, 0.1}, {d_out * hidden, out}, {d_out, 0.1}};

  const int64_t length = pkb::mlp_shape(request).size() / request.world;
  const at::Tensor values = draws.normal("flat_param_shard", request.rank, {length}, 0, 1);
  int64_t begin = -request.rank * length;  // of a stretch, counted from the shard's first element
  for (const Stretch& stretch : stretches) {
    const int64_t end = begin + stretch.length;
    values.slice(0, std::clamp<int64_t>(begin, 0, length), std::clamp<int64_t>(end, 0, length)).mul_(stretch.sigma);
    begin = end;
  }
  return values.to(at::kBFloat16);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  out["flat_param_shard"] = parameters(request, draws);
  out["exp_avg_sq_shard"] = pkb::second_moment_part(request, draws, "exp_avg_sq_shard");
}
PKB_INPUTS(draw)
