// SPDX-License-Identifier: Apache-2.0
//
// logits = [l_0 | l_1 | ..],  l_r = h w_r^T + b_r      h [tokens, hidden] on all ranks, w_r [vocab/W, hidden],
// b_r [vocab/W], logits [tokens, vocab], bf16, in fp32 between them; every rank gets logits
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor own = at::linear(in["hidden_states"], in["weight_shard"], in["bias_shard"]);
  at::Tensor parts = at::empty({comm.size(), own.size(0), own.size(1)}, own.options());
  comm.all_gather_into_tensor(parts, own);
  return {{"logits", parts.transpose(0, 1).flatten(1)}};
}
PKB_REFERENCE(baseline)
