// SPDX-License-Identifier: Apache-2.0
//
// e <- bf16(e / ep_size) for every expert gradient;  total_norm = (A + B)^0.5, A the sum of d^2 over all dense
// gradients of all ranks, B that of e^2 (over ep_fsdp, then ep: they tile the world);  where total_norm >
// max_norm, d and e <- bf16(. * max_norm / total_norm).   non_ep_grads, ep_grads: lists of [M, N], bf16, in place The
// factor is rounded to bf16, as PyTorch does on a GPU. Sums are in fp32; those of the answer in fp64.
#include "optimizer/clip_grad.h"

namespace {

pkb::Outputs clip(const pkb::Inputs& in, pkb::Comm& comm, at::ScalarType sums) {
  const std::vector<at::Tensor>& experts = in.list("ep_grads");
  const int64_t ep_size = in.integer("ep_size");
  if (ep_size > 1) at::_foreach_div_(experts, ep_size);
  std::vector<at::Tensor> grads = in.list("non_ep_grads");
  grads.insert(grads.end(), experts.begin(), experts.end());
  return {{"total_norm", pkb::clip_grads(grads, in.real("max_norm"), comm, sums)}};
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
