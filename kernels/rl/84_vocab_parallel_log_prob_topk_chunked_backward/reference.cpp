// SPDX-License-Identifier: Apache-2.0
//
// grad_logits[t, v] = ([v = target_t] - p[t, v]) * grad_output[t] where the filter keeps (t, v), else 0
// p = softmax(filter(x_t)), x_t: token t's whole row of the logits, sharded over the vocabulary; filter by top_k,
// top_p. In chunks of B * chunk_size flat tokens, of which rank r solves run r; the columns then go back to their
// ranks. logits [B, S, V/W] bf16, target and grad_output [B, S] the same on all ranks, grad_logits [B, S, V/W] fp32
#include "rl/top_k_top_p.h"

namespace {

/// Of blocks [W, n, V/W], target and grad_output [n].
at::Tensor gradient(const at::Tensor& blocks, const at::Tensor& target, const at::Tensor& grad_output,
                    const pkb::TopKTopP& filter) {
  const auto [least, normaliser] = filter.kept(blocks);
  at::Tensor result = at::sub(blocks, normaliser).exp_().mul_(grad_output.neg().unsqueeze(-1));
  const auto places = pkb::places(target, blocks);
  result.index_put_(places, result.index(places) + grad_output);
  return least.defined() ? result.masked_fill_(blocks < least, 0) : result;
}

/// By definition.
at::Tensor exact_gradient(const at::Tensor& blocks, const at::Tensor& target, const at::Tensor& grad_output,
                          const pkb::TopKTopP& filter) {
  const at::Tensor filtered = filter.filter(pkb::float_rows(blocks)), column = target.unsqueeze(-1);
  const at::Tensor keeps_target = (filtered.gather(-1, column) > pkb::kFilteredOut).to(at::kFloat);
  return at::softmax(filtered, -1)
      .neg_()
      .scatter_add_(-1, column, keeps_target)
      .mul_(grad_output.unsqueeze(-1))
      .view({blocks.size(1), blocks.size(0), -1})
      .transpose(0, 1)
      .contiguous();
}

template <typename Gradient>
pkb::Outputs run(const pkb::Inputs& in, pkb::Comm& comm, Gradient&& gradient_of) {
  const at::Tensor logits = in["logits"].flatten(0, 1), target = in["target"].view(-1);
  const at::Tensor grad_output = in["grad_output"].view(-1).to(at::kFloat);
  const pkb::TopKTopP filter(in);
  const std::vector<pkb::TokenChunk> chunks = pkb::token_chunks(in, comm);
  const at::Tensor grad_logits = at::empty(in["logits"].sizes(), grad_output.options());
  std::vector<std::unique_ptr<pkb::Work>> homeward;
  pkb::ArrivingRows next = pkb::start_own_rows(logits, chunks.front(), comm);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const pkb::TokenChunk& chunk = chunks[i];
    const auto [blocks, work] = std::move(next);
    if (i + 1 < chunks.size()) next = pkb::start_own_rows(logits, chunks[i + 1], comm);  // while this one is solved
    work->wait();
    const auto own = [&](const at::Tensor& of_all) { return of_all.narrow(0, chunk.own_first, chunk.own); };
    const at::Tensor solved = gradient_of(blocks, own(target), own(grad_output), filter);
    at::Tensor of_chunk = grad_logits.view({-1, logits.size(-1)}).narrow(0, chunk.first, chunk.tokens);
    homeward.push_back(comm.start_all_to_all_single(of_chunk, solved.flatten(0, 1)));
  }
  for (const auto& work : homeward) work->wait();
  return {{"grad_logits", grad_logits}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, gradient);
}
pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return run(in, comm, exact_gradient);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
