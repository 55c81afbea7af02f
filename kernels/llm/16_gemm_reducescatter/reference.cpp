// SPDX-License-Identifier: Apache-2.0
//
// C_r = rows r*M/W .. (r+1)*M/W - 1 of sum_s A_s B_s       A_s [M, K/W], B_s [K/W, N], C_r [M/W, N], bf16
// Judged against the product in fp32, rounded once: the baseline itself rounds every partial and every hop to bf16.
#include <pkb/reference.h>

namespace {

at::Tensor rows_of_sum(const at::Tensor& partial, pkb::Comm& comm) {
  at::Tensor rows = at::empty({partial.size(0) / comm.size(), partial.size(1)}, partial.options());
  comm.reduce_scatter_tensor(rows, partial);
  return rows;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor partial = at::matmul(in["A_local"], in["B_local"]);
  return {{"C_local", rows_of_sum(partial, comm)}};
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor partial = at::matmul(in["A_local"].to(at::kFloat), in["B_local"].to(at::kFloat));
  return {{"C_local", rows_of_sum(partial, comm).to(at::kBFloat16)}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
