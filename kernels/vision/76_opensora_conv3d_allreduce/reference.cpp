// SPDX-License-Identifier: Apache-2.0
//
// y = sum_s conv3d(x_s, weight_s) + bias         x_s [B, C/W, T, H, Wd]: channels of rank s, weight_s [O, C/W, k, k, k]
// bias [O], the same on all ranks; y [B, O, T-k+1, H-k+1, Wd-k+1]; bf16; every rank gets y
// Judged against sums in fp32, rounded once: the baseline itself rounds every partial and every hop to bf16.
#include <pkb/reference.h>

namespace {

at::Tensor sum_of_convolutions(const pkb::Inputs& in, pkb::Comm& comm, at::ScalarType type) {
  at::Tensor y = at::conv3d(in["x"].to(type), in["weight"].to(type), {}, in.integer("stride"), in.integer("padding"),
                            in.integer("dilation"), in.integer("conv_groups"));
  comm.all_reduce(y);
  return y.add_(in["bias"].view({1, -1, 1, 1, 1}));
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return {{"y", sum_of_convolutions(in, comm, at::kBFloat16)}};
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return {{"y", sum_of_convolutions(in, comm, at::kFloat).to(at::kBFloat16)}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
