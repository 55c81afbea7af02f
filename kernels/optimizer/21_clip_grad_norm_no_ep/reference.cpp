// SPDX-License-Identifier: Apache-2.0
//
// total_norm = (sum over all ranks, tensors and elements of g^2)^0.5, fp32;   g <- bf16(g * max_norm / total_norm)
// where total_norm > max_norm, in place, else g stays as it is.   grads: G tensors [M, N], bf16 The factor is rounded
// to bf16, as PyTorch does on a GPU. Sums are in fp32; those of the answer in fp64.
#include "optimizer/clip_grad.h"

namespace {

pkb::Outputs clip(const pkb::Inputs& in, pkb::Comm& comm, at::ScalarType sums) {
  return {{"total_norm", pkb::clip_grads(in.list("grads"), in.real("max_norm"), comm, sums)}};
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
