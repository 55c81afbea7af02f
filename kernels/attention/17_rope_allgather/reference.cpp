// SPDX-License-Identifier: Apache-2.0
//
// x_global = [e_0 | e_1 | ..] along the sequence,  e_r = x_r cos + rotated(x_r) sin,  for x = q and x = k
// rotated(x)[d] = -x[d + HD/2] for d < HD/2, else x[d - HD/2]; cos, sin [B, S/W, HD] are the same for all heads
// x_r [B, S/W, NH, HD], x_global [B, S, NH, HD], bf16, rounded after each product and after the sum
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor x = at::stack({in["q_local"], in["k_local"]});
  const at::Tensor cos = in["cos_local"].unsqueeze(2), sin = in["sin_local"].unsqueeze(2);
  const int64_t half = x.size(-1) / 2;

  const at::Tensor turned = x.unflatten(-1, {2, half}).flip(-2).flatten(-2).mul_(sin);
  at::Tensor embedded = x * cos;
  embedded.narrow(-1, 0, half).sub_(turned.narrow(-1, 0, half));
  embedded.narrow(-1, half, half).add_(turned.narrow(-1, half, half));

  at::Tensor parts = at::empty({comm.size(), 2, x.size(1), x.size(2), x.size(3), x.size(4)}, x.options());
  comm.all_gather_into_tensor(parts, embedded);
  const at::Tensor joined = parts.permute({1, 2, 0, 3, 4, 5}).flatten(2, 3);
  return {{"q_global", joined[0]}, {"k_global", joined[1]}};
}
PKB_REFERENCE(baseline)
