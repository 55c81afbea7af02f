// SPDX-License-Identifier: Apache-2.0
//
// out[t] = sum over the k chosen experts e of w[t, e] * MLP_e(h[t]);   w = softmax(h gate_weight^T + gate_bias), the
// top_k largest chosen, not renormalised;  MLP_e(x) = down(silu(gate(x)) * up(x)) with weight set mod(e, EPR) (the only
// one when C = 1) of member floor(e / EPR) of the own group.   h = hidden_states [T, H], out [T, H], bf16, every step
// rounded, sums in fp32
#include "moe/expert_parallel.h"
#include "moe/swiglu.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& hidden = in["hidden_states"];
  const pkb::Routing routing = pkb::route(hidden, in["gate_weight"], in["gate_bias"], in.integer("top_k"));
  pkb::Dispatch dispatch(routing, in.integer("num_experts"), comm.group("ep"));
  const std::vector<pkb::Swiglu> experts = pkb::stacked_swiglu(in);
  return {{"out", dispatch.combine(dispatch.apply(experts, dispatch.send(hidden)))}};
}
PKB_REFERENCE(baseline)
