// SPDX-License-Identifier: Apache-2.0
//
// e <- bf16(e / ep_size) for every expert gradient;  total_norm = (A + B)^0.5, A the sum of d^2 over all dense
// gradients of all ranks, B that of e^2, summed over ep_fsdp, then ep, which tile the world;  where total_norm >
// max_norm, d and e <- bf16(. * max_norm / total_norm).   non_ep_grads, ep_grads: lists of [M, N], bf16, in place The
// factor is rounded to bf16, as PyTorch does on a GPU. Sums are in fp32; those of the answer in fp64.
#include "optimizer/clip_grad.h"

namespace {

pkb::Outputs clip(const pkb::Inputs& in, pkb::Comm& comm, at::ScalarType sums) {
  const std::vector<at::Tensor>&dense = in.list("non_ep_grads"), &experts = in.list("ep_grads");
  const int64_t ep_size = in.integer("ep_size");
  if (ep_size > 1) at::_foreach_div_(experts, ep_size);

  at::Tensor dense_squares = pkb::sum_of_squares(dense, sums);
  comm.all_reduce(dense_squares);
  at::Tensor expert_squares = pkb::sum_of_squares(experts, sums);
  comm.group("ep_fsdp").all_reduce(expert_squares);
  comm.group("ep").all_reduce(expert_squares);

  const at::Tensor total_norm = (dense_squares + expert_squares).sqrt_();
  const at::Tensor factor = pkb::clip_factor(total_norm, in.real("max_norm"));
  at::_foreach_mul_(dense, factor);
  at::_foreach_mul_(experts, factor);
  return {{"total_norm", total_norm.to(at::kFloat)}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return clip(in, comm, at::kFloat);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return clip(in, comm, at::kDouble);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
