// SPDX-License-Identifier: Apache-2.0
//
// loss_sum = sum_s loss_s n_s,  normalized_loss = loss_sum / N,  grad_loss = (g/N + h) n;   where n = 0 a NaN loss
// counts as 0.   n = local_valid_tokens, N = global_valid_tokens (i64), g = grad_normalized_loss, h = grad_loss_sum and
// the rest bf16, all of rank 0.   The baseline rounds every step to bf16, the answer is rounded once
#include <pkb/reference.h>

namespace {

pkb::Outputs evaluate(const pkb::Inputs& in, pkb::Comm& comm, at::ScalarType type) {
  const at::Tensor &n = in["local_valid_tokens"], &total = in["global_valid_tokens"];
  at::Tensor loss_sum = (in["loss"].to(type) * n).masked_fill_(n == 0, 0);
  comm.all_reduce(loss_sum);
  const at::Tensor grad_loss = (in["grad_normalized_loss"].to(type) / total).add_(in["grad_loss_sum"]).mul_(n);
  return {{"normalized_loss", (loss_sum / total).to(at::kBFloat16)},
          {"loss_sum", loss_sum.to(at::kBFloat16)},
          {"grad_loss", grad_loss.to(at::kBFloat16)}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return evaluate(in, comm, at::kBFloat16);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return evaluate(in, comm, at::kDouble);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
