// SPDX-License-Identifier: Apache-2.0
//
// z = bf16(x * (q / (N*W) + eps)^-0.5),  q[i] = sum over all ranks and columns of x[i, n]^2,  x = fp32(hidden)
// y = bf16(weight * z)                   hidden_local, y_local [M, N], weight_local [N], bf16
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor x = in["hidden_local"].to(at::kFloat);
  at::Tensor squares = x.pow(2).sum(-1, /*keepdim=*/true);
  comm.all_reduce(squares);
  const at::Tensor variance = squares / (x.size(-1) * comm.size());
  const at::Tensor normalised = (x * at::rsqrt(variance + in.real("variance_epsilon"))).to(at::kBFloat16);
  return {{"y_local", in["weight_local"] * normalised}};
}
PKB_REFERENCE(baseline)
