// SPDX-License-Identifier: Apache-2.0
//
// y_r = A B_r              A = [A_0 | A_1 | ..] [M, K] from column blocks A_local [M, K/W]; B_r [K, N], y_r [M, N]
// bf16, summed in fp32, rounded once
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& a_local = in["A_local"];
  std::vector<at::Tensor> blocks;
  for (int s = 0; s < comm.size(); ++s) blocks.push_back(at::empty_like(a_local));
  comm.all_gather(blocks, a_local);
  const at::Tensor a = at::cat(blocks, /*dim=*/1);
  return {{"y", at::matmul(a, in["B"])}};
}
PKB_REFERENCE(baseline)
