// SPDX-License-Identifier: Apache-2.0
//
// out[t] = sum over the k chosen experts e of w[t, e] * MLP_rank(e)(h[t]);   routing and ranks as in problem 31,
// MLP(x) = down(silu(gate(x)) * up(x)),  p(x) = bf16(x weight_p^T + bias_p) + bf16(bf16(x A_p^T) B_p^T) for each p of
// gate, up, down.   h = hidden_states [T, H], out [T, H], A [LR, in], B [out, LR], bf16, every step rounded, sums in
// fp32
#include "moe/expert_parallel.h"
#include "moe/swiglu.h"

namespace {

pkb::Outputs layer(const pkb::Inputs& in, pkb::Comm& comm, bool rounds_adapters) {
  const at::Tensor& hidden = in["hidden_states"];
  const pkb::Routing routing = pkb::route(hidden, in["gate_weight"], in["gate_bias"], in.integer("top_k"));
  pkb::Dispatch dispatch(routing, in.integer("num_experts"), comm);
  const pkb::Swiglu mlp = pkb::swiglu_with_lora(in, rounds_adapters);
  return {{"out", dispatch.combine(mlp(dispatch.send(hidden)))}};
}

}  // namespace

/// The product with B goes into the accumulator of the projection: one launch and one rounding less.
pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return layer(in, comm, /*rounds_adapters=*/false);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return layer(in, comm, /*rounds_adapters=*/true);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
