// SPDX-License-Identifier: Apache-2.0
//
// y_d = x_src[d]           x [W, M, N] on rank src (elsewhere [M, N], not read), y_d [M, N], bf16
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x"];
  const int src = static_cast<int>(in.integer("src"));
  std::vector<at::Tensor> blocks;
  if (comm.rank() == src) blocks = x.unbind(0);
  at::Tensor y = at::empty({x.size(-2), x.size(-1)}, x.options());
  comm.scatter(y, blocks, src);
  return {{"y", y}};
}
PKB_REFERENCE(baseline)
