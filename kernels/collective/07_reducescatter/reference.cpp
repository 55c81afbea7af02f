// SPDX-License-Identifier: Apache-2.0
//
// y_r = sum_s x_s[r*M : (r+1)*M]       x_s [W*M, N], y_r [M, N], bf16
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x"];
  at::Tensor y = at::empty({x.size(0) / comm.size(), x.size(1)}, x.options());
  comm.reduce_scatter_tensor(y, x);
  return {{"y", y}};
}
PKB_REFERENCE(baseline)
