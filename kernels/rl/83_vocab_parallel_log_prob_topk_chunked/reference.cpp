// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x_t))[target_t]       x_t: token t's whole row of the logits, sharded over the
// vocabulary; filter by top_k and top_p.   Solved in chunks of B * chunk_size flat tokens; rank r works on run r of a
// chunk.   logits [B, S, V/W] bf16, target [B, S] and logprob [B, S] fp32 the same on all ranks
#include "rl/top_k_top_p.h"

namespace {

template <typename LogProb>
pkb::Outputs run(const pkb::Inputs& in, pkb::Comm& comm, LogProb&& log_prob) {
  const at::Tensor logits = in["logits"].flatten(0, 1), target = in["target"].view(-1);
  const pkb::TopKTopP filter(in);
  const std::vector<pkb::TokenChunk> chunks = pkb::token_chunks(in, comm);
  std::vector<at::Tensor> own;
  pkb::ArrivingRows next = pkb::start_own_rows(logits, chunks.front(), comm);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const pkb::TokenChunk& chunk = chunks[i];
    const auto [blocks, work] = std::move(next);
    if (i + 1 < chunks.size()) next = pkb::start_own_rows(logits, chunks[i + 1], comm);  // while this one is solved
    work->wait();
    own.push_back(log_prob(blocks, target.narrow(0, chunk.own_first, chunk.own), filter));
  }

  at::Tensor gathered = at::empty({comm.size(), target.size(0) / comm.size()}, own.front().options());
  comm.all_gather_into_tensor(gathered, at::cat(own));
  const at::Tensor logprob = at::empty(in["target"].sizes(), gathered.options());
  for (const pkb::TokenChunk& chunk : chunks) {
    logprob.view(-1)
        .narrow(0, chunk.first, chunk.tokens)
        .view({comm.size(), chunk.own})
        .copy_(gathered.narrow(1, chunk.first / comm.size(), chunk.own));
  }
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
