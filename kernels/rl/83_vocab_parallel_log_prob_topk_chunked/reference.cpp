// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x_t))[target_t]       x_t: token t's whole row of the logits, sharded over the
// vocabulary; filter by top_k and top_p.   Solved in chunks of B * chunk_size flat tokens; rank r works on run r of a
// chunk.   logits [B, S, V/W] bf16, target [B, S] and logprob [B, S] fp32 the same on all ranks
#include "rl/top_k_top_p.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor logits = in["logits"].flatten(0, 1), target = in["target"].view(-1);
  const pkb::TopKTopP filter(in);
  const at::Tensor logprob = at::empty(in["target"].sizes(), logits.options().dtype(at::kFloat));
  for (const pkb::TokenChunk& chunk : pkb::token_chunks(in, comm)) {
    const at::Tensor log_softmax = at::log_softmax(filter.filter(pkb::own_rows(logits, chunk, comm)), -1);
    const at::Tensor own_target = target.narrow(0, chunk.own_first, chunk.own);
    at::Tensor solved = logprob.view(-1).narrow(0, chunk.first, chunk.tokens);
    comm.all_gather_into_tensor(solved, log_softmax.gather(-1, own_target.unsqueeze(-1)).squeeze(-1));
  }
  return {{"logprob", logprob}};
}
PKB_REFERENCE(baseline)
