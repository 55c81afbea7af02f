// SPDX-License-Identifier: Apache-2.0
//
// z = bf16(x * (q / (N*W) + eps)^-0.5),  q[i] = sum over all ranks and columns of x[i, n]^2,  x = fp32(hidden)
// y = bf16(weight * z)                   hidden_local, y_local [M, N], weight_local [N], bf16
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["hidden_local"];
  at::Tensor squares = at::linalg_vector_norm(x, 2, {-1}, /*keepdim=*/true, at::kFloat).square_();
  comm.all_reduce(squares);
  const at::Tensor scale = squares.div_(x.size(-1) * comm.size()).add_(in.real("variance_epsilon")).rsqrt_();
  at::Tensor y = at::empty_like(x);
  at::mul_out(y, x, scale);
  return {{"y_local", y.mul_(in["weight_local"])}};
}
PKB_REFERENCE(baseline)
