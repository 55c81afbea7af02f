// SPDX-License-Identifier: Apache-2.0
//
// out = sum over tp ranks of attention(X w_qkv^T) w_o^T       every tp rank has its own H/TP heads and the same X
// X, out [B, S, E] bf16: the tokens of this cp rank; w_qkv [3*E/TP, E], w_o [E, E/TP]
// Causal attention over the cp group with fp32 scores; q, k, v, the heads' results and the partial sums are bf16.
#include <pkb/reference.h>

#include "attention/ring_attention.h"

namespace {

pkb::Outputs layer(const pkb::Inputs& in, pkb::Comm& comm, pkb::Attention attention) {
  const at::Tensor& x = in["hidden_states"];
  const int64_t head_size = x.size(-1) / in.integer("num_heads");
  at::Tensor out = pkb::attention_layer(x, in["w_qkv"], in["w_o"], head_size, pkb::softmax_scale(in, head_size),
                                        in.boolean("causal"), comm.group("cp"), attention);
  comm.group("tp").all_reduce(out);
  return {{"out", out}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return layer(in, comm, pkb::flash_attention);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return layer(in, comm, pkb::exact_attention);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
