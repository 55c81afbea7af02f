// SPDX-License-Identifier: Apache-2.0
//
// logprob[t] = log_softmax(filter(x_t))[target_t]       x_t: token t's whole row of the logits, sharded over the
// vocabulary filter: what is below the top_k-th largest value goes, then the smallest values that together weigh at
// most 1 - top_p logits [B, S, V/W] bf16, target [B, S] and logprob [B, S] fp32 the same on all ranks; rank r works on
// tokens r*n .. r*n + n - 1
#include <pkb/reference.h>

#include <algorithm>
#include <limits>

namespace {

constexpr double kFilteredOut = -std::numeric_limits<double>::infinity();

/// x [n, V] in vocabulary order. Equal values sort by vocabulary index; the largest value always stays.
at::Tensor filter(at::Tensor x, int64_t top_k, double top_p) {
  const int64_t vocabulary = x.size(-1), k = std::min(top_k, vocabulary);
  if (top_p >= 1) {
    if (k <= 0) return x;
    const at::Tensor threshold = std::get<0>(at::topk(x, k)).narrow(-1, k - 1, 1);
    return x.masked_fill_(x < threshold, kFilteredOut);
  }
  auto [sorted, order] = at::sort(x, /*stable=*/true, /*dim=*/-1, /*descending=*/false);
  if (k > 0) sorted.masked_fill_(sorted < sorted.narrow(-1, vocabulary - k, 1), kFilteredOut);
  at::Tensor drop = at::cumsum(at::softmax(sorted, -1), -1) <= 1 - top_p;
  drop.select(-1, -1).fill_(false);
  sorted.masked_fill_(drop, kFilteredOut);
  return x.scatter_(-1, order, sorted);
}

/// Scalars that may be absent or null: no filter.
int64_t top_k(const pkb::Inputs& in) {
  return in.has_scalar("top_k") && !in.is_null("top_k") ? in.integer("top_k") : 0;
}
double top_p(const pkb::Inputs& in) {
  return in.has_scalar("top_p") && !in.is_null("top_p") ? in.real("top_p") : 1;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &logits = in["logits"], &target = in["target"];
  const int64_t tokens = target.numel(), width = logits.size(-1), ranks = comm.size(), own = tokens / ranks;

  at::Tensor blocks = at::empty({tokens, width}, logits.options());
  comm.all_to_all_single(blocks, logits.view({tokens, width}));
  const at::Tensor rows = at::empty({own, ranks, width}, logits.options().dtype(at::kFloat))
                              .copy_(blocks.view({ranks, own, width}).transpose(0, 1))
                              .view({own, ranks * width});

  const at::Tensor log_softmax = at::log_softmax(filter(rows, top_k(in), top_p(in)), -1);
  const at::Tensor own_target = target.view(-1).narrow(0, comm.rank() * own, own);
  const at::Tensor chosen = log_softmax.gather(-1, own_target.unsqueeze(-1)).squeeze(-1);

  at::Tensor logprob = at::empty(target.sizes(), chosen.options());
  comm.all_gather_into_tensor(logprob, chosen);
  return {{"logprob", logprob}};
}
PKB_REFERENCE(baseline)
