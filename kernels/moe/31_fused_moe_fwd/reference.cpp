// SPDX-License-Identifier: Apache-2.0
//
// out[t] = sum over the k chosen experts e of w[t, e] * MLP_rank(e)(h[t]);   w = softmax(h gate_weight^T + gate_bias),
// the top_k largest chosen, not renormalised;  rank(e) = floor(e / (E/W)) has one MLP for all its experts,
// MLP(x) = down(silu(gate(x)) * up(x)).   h = hidden_states [T, H], out [T, H], bf16, every step rounded, sums in fp32
// The experts of a rank share their weights, so the order in which rows arrive will do.
#include "moe/expert_parallel.h"
#include "moe/swiglu.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& hidden = in["hidden_states"];
  const pkb::Routing routing = pkb::route(hidden, in["gate_weight"], in["gate_bias"], in.integer("top_k"));
  pkb::Dispatch dispatch(routing, in.integer("num_experts"), comm);
  const pkb::Swiglu mlp = pkb::swiglu(in);
  return {{"out", dispatch.combine(mlp(dispatch.send(hidden)))}};
}
PKB_REFERENCE(baseline)
