// SPDX-License-Identifier: Apache-2.0
//
// logits = [l_0 | l_1 | ..],  l_r = bf16(bf16(h w_r^T) + b_r)      h [tokens, hidden] on all ranks, w_r [vocab/W,
// hidden], b_r [vocab/W], logits [tokens, vocab], bf16; every rank gets logits
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  at::Tensor local = at::matmul(in["hidden_states"], in["weight_shard"].t());
  local.add_(in["bias_shard"]);
  std::vector<at::Tensor> parts;
  for (int s = 0; s < comm.size(); ++s) parts.push_back(at::empty_like(local));
  comm.all_gather(parts, local);
  return {{"logits", at::cat(parts, /*dim=*/-1)}};
}
PKB_REFERENCE(baseline)
