// SPDX-License-Identifier: Apache-2.0
//
// out_r[s] = x_s[r],  x[d, e] = fp32(local_y[d, e]) * local_s[d, floor(e / block_size)],  e over M*N elements by rows
// local_y [W, M, N] fp8, local_s [W, M*N/block_size] fp32: chunk d is for rank d; out [W, M, N] fp32
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &codes = in["local_y"], &scales = in["local_s"];
  const at::Tensor blocks = codes.view({codes.size(0), scales.size(1), in.integer("block_size")});
  const at::Tensor x = blocks.to(at::kFloat).mul_(scales.unsqueeze(-1)).view(codes.sizes());
  at::Tensor out = at::empty_like(x);
  comm.all_to_all_single(out, x);
  return {{"out", out}};
}
PKB_REFERENCE(baseline)
