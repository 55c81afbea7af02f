// SPDX-License-Identifier: Apache-2.0
//
// out[i] = sum over keys j <= i of softmax_j(q_i k_j D^-0.5) v_j       of the whole sequence, for this rank's queries i
// q, k, v, out [B, T/W, H, D] bf16: tokens r*T/W .. ; every batch and head on its own, scores and sums in fp32
#include <pkb/reference.h>

#include "attention/ring_attention.h"

namespace {

pkb::Outputs attend(const pkb::Inputs& in, pkb::Comm& comm, pkb::Attention attention) {
  const at::Tensor& q = in["q"];
  const bool causal = in.boolean("causal");
  const std::vector<at::Tensor> seen = pkb::seen_keys(in["k"], in["v"], causal, comm);
  return {{"out", attention(q, seen[0], seen[1], pkb::softmax_scale(in, q.size(-1)), causal)}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return attend(in, comm, pkb::flash_attention);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return attend(in, comm, pkb::exact_attention);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
