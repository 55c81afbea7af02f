// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x_t))[target_t]
// x_t: token t's whole row of the logits, which are sharded over the vocabulary; filter by top_k, then by top_p
// logits [B, S, V/W] bf16; target, logprob [B, S] (fp32) the same on all ranks; rank r solves run r of the tokens
#include "rl/top_k_top_p.h"

namespace {

template <typename LogProb>
pkb::Outputs run(const pkb::Inputs& in, pkb::Comm& comm, LogProb&& log_prob) {
  const at::Tensor logits = in["logits"].flatten(0, 1);
  const at::Tensor& target = in["target"];
  const pkb::TokenChunk all = pkb::chunk_of(0, target.numel(), comm);
  at::Tensor blocks = at::empty_like(logits), logprob = at::empty(target.sizes(), logits.options().dtype(at::kFloat));
  comm.all_to_all_single(blocks, logits);
  const at::Tensor own_target = target.view(-1).narrow(0, all.own_first, all.own);
  comm.all_gather_into_tensor(logprob,
                              log_prob(blocks.view({comm.size(), all.own, -1}), own_target, pkb::TopKTopP(in)));
  return {{"logprob", logprob}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, pkb::log_prob);
}
pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, pkb::exact_log_prob);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
