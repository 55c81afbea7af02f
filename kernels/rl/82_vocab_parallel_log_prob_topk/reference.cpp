// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x_t))[target_t]
// x_t: token t's whole row of the logits, which are sharded over the vocabulary; filter by top_k, then by top_p
// logits [B, S, V/W] bf16; target, logprob [B, S] (fp32) the same on all ranks; rank r solves run r of the tokens
#include "rl/top_k_top_p.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor logits = in["logits"].flatten(0, 1);
  const at::Tensor& target = in["target"];
  const pkb::TopKTopP filter(in);
  const pkb::TokenChunk all = pkb::chunk_of(0, target.numel(), comm);
  const at::Tensor log_softmax = at::log_softmax(filter.filter(pkb::own_rows(logits, all, comm)), -1);
  const at::Tensor own_target = target.view(-1).narrow(0, all.own_first, all.own);

  at::Tensor logprob = at::empty(target.sizes(), log_softmax.options());
  comm.all_gather_into_tensor(logprob, log_softmax.gather(-1, own_target.unsqueeze(-1)).squeeze(-1));
  return {{"logprob", logprob}};
}
PKB_REFERENCE(baseline)
