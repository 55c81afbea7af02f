// SPDX-License-Identifier: Apache-2.0
//
// grad_logits[t, v] = ([v = target_t] - p[t, v]) * grad_output[t] where the filter keeps (t, v), else 0
// p = softmax(filter(x_t)), x_t: token t's whole row of the logits, sharded over the vocabulary; filter by top_k,
// top_p. In chunks of B * chunk_size flat tokens, of which rank r solves run r; the columns then go back to their
// ranks. logits [B, S, V/W] bf16, target and grad_output [B, S] the same on all ranks, grad_logits [B, S, V/W] fp32
#include "rl/top_k_top_p.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor logits = in["logits"].flatten(0, 1), target = in["target"].view({-1, 1});
  const at::Tensor grad_output = in["grad_output"].view({-1, 1});
  const int64_t ranks = comm.size(), width = logits.size(-1);
  const pkb::TopKTopP filter(in);
  const at::Tensor grad_logits = at::empty(in["logits"].sizes(), logits.options().dtype(at::kFloat));
  for (const pkb::TokenChunk& chunk : pkb::token_chunks(in, comm)) {
    const at::Tensor filtered = filter.filter(pkb::own_rows(logits, chunk, comm));
    const at::Tensor own_target = target.narrow(0, chunk.own_first, chunk.own);
    const at::Tensor keeps_target = (filtered.gather(-1, own_target) > pkb::kFilteredOut).to(at::kFloat);
    const at::Tensor gradient = at::softmax(filtered, -1)
                                    .neg_()
                                    .scatter_add_(-1, own_target, keeps_target)
                                    .mul_(grad_output.narrow(0, chunk.own_first, chunk.own));
    const at::Tensor by_rank = gradient.view({chunk.own, ranks, width}).transpose(0, 1).contiguous();
    at::Tensor solved = grad_logits.view({-1, width}).narrow(0, chunk.first, chunk.tokens);
    comm.all_to_all_single(solved, by_rank.view({chunk.tokens, width}));
  }
  return {{"grad_logits", grad_logits}};
}
PKB_REFERENCE(baseline)
