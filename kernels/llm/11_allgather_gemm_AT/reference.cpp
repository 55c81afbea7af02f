// SPDX-License-Identifier: Apache-2.0
//
// y_r = A B_r = (B_r^T A^T)^T        A = [A_0 | A_1 | ..] [M, K] from column blocks A_local [M, K/W]; B_r [K, N]
// y_r [M, N] lies column by column; bf16, summed in fp32, rounded once
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor block = in["A_local"].t().contiguous();
  at::Tensor transposed = at::empty({comm.size() * block.size(0), block.size(1)}, block.options());
  comm.all_gather_into_tensor(transposed, block);
  return {{"y", at::matmul(in["B"].t(), transposed).t()}};
}
PKB_REFERENCE(baseline)
