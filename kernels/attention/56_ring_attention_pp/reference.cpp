// SPDX-License-Identifier: Apache-2.0
//
// Y_0 = layer_0(X),  Y_1 = layer_1(Y_0),  layer_p(X) = attention(X w_qkv^T) w_o^T;  stage p returns Y_p
// X, Y [B, S, E] bf16: the tokens of this cp rank, X is read on stage 0; w_qkv [3*E, E], w_o [E, E] of the stage
// Causal attention over the cp group with fp32 scores; q, k, v and the heads' results are rounded to bf16.
#include <pkb/reference.h>

#include "attention/ring_attention.h"

namespace {

pkb::Outputs pipeline(const pkb::Inputs& in, pkb::Comm& comm, pkb::Attention attention) {
  using Operation = pkb::Comm::P2p;
  pkb::Comm& stages = comm.group("pp");
  const int stage = stages.rank(), last = stages.size() - 1;
  at::Tensor x = in["hidden_states"];
  if (stage > 0) {
    x = at::empty_like(x);
    std::vector<Operation> receive{{Operation::Kind::receive, x, stage - 1}};
    stages.batch_send_receive(receive);
  }
  const int64_t head_size = x.size(-1) / in.integer("num_heads");
  const at::Tensor y = pkb::attention_layer(x, in["w_qkv"], in["w_o"], head_size, pkb::softmax_scale(in, head_size),
                                            in.boolean("causal"), comm.group("cp"), attention);
  if (stage < last) {
    std::vector<Operation> send{{Operation::Kind::send, y, stage + 1}};
    stages.batch_send_receive(send);
  }
  return {{"stage_output", y}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return pipeline(in, comm, pkb::flash_attention);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return pipeline(in, comm, pkb::exact_attention);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
