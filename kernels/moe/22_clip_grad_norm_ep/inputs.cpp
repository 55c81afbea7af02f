// SPDX-License-Identifier: Apache-2.0
//
// non_ep_grads[t] = (1 + r) * 2^-t * normal, ep_grads[t] = W * ep_size / (1 + r) * 2^-t * normal: sums over any two
// groups differ, and once divided by ep_size the experts weigh about as much as the rest. Case `equal`: one element,
// 1 after that division, all else zero, so that the norm is max_norm to the bit.
#include "optimizer/gradient_inputs.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t dense_count = request.param("GN"), expert_count = request.param("GE");
  const auto ep_size = static_cast<double>(std::get<int64_t>(request.scalars.at("ep_size")));
  const std::vector<at::Tensor> dense = pkb::gradients(request, draws, "non_ep_grads", dense_count, 1 + request.rank);
  const std::vector<at::Tensor> experts =
      pkb::gradients(request, draws, "ep_grads", expert_count, request.world * ep_size / (1 + request.rank));
  if (request.case_name == "equal") {
    const pkb::OneElement element(request, draws, dense_count + expert_count);
    element.write(dense, 0, 1);
    element.write(experts, dense_count, ep_size);
  }
  out["non_ep_grads"] = dense;
  out["ep_grads"] = experts;
}
PKB_INPUTS(draw)
