// SPDX-License-Identifier: Apache-2.0
//
// y_r[i] = bf16(z[i] * (mean_j z[i, j]^2 + eps)^-0.5 * gamma) in fp32,  z = bf16(sum_s chunk r of rs_input_s / W)
// rs_input [W*rows*hidden]: chunk k is a [rows, hidden] matrix for rank k; gamma [hidden], y_r [rows, hidden], bf16
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &partial = in["rs_input"], &gamma = in["gamma"];
  const int64_t hidden = gamma.size(0);
  at::Tensor z = at::empty({partial.size(0) / comm.size() / hidden, hidden}, partial.options());
  comm.reduce_scatter_tensor(z, partial);
  z.div_(comm.size());
  return {{"y", at::rms_norm(z, {hidden}, gamma, in.real("eps"))}};
}
PKB_REFERENCE(baseline)
