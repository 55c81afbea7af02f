// SPDX-License-Identifier: Apache-2.0
//
// x <- x - m,  m = max over the vocabulary;   loss = log(sum over the vocabulary of e^x) - x[target]
// x [B, S, V/W] is changed in place, target [B, S] and loss [B, S] are the same on all ranks; bf16, sums in a rank in
// fp32
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &x = in["vocab_parallel_logits"], &target = in["target"];
  const int64_t width = x.size(-1), first = comm.rank() * width;

  at::Tensor maximum = x.amax(-1);
  comm.all_reduce(maximum, pkb::ReduceOp::max);
  x.sub_(maximum.unsqueeze(-1));

  const at::Tensor elsewhere = at::logical_or(target < first, target >= first + width);
  const at::Tensor index = (target - first).masked_fill_(elsewhere, 0);
  const at::Tensor predicted = x.gather(-1, index.unsqueeze(-1)).squeeze(-1).masked_fill_(elsewhere, 0);
  at::Tensor sums = at::stack({x.exp().sum(-1), predicted});
  comm.all_reduce(sums);
  return {{"loss", sums[0].log().sub_(sums[1])}};
}
PKB_REFERENCE(baseline)
