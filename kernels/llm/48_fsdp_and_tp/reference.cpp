// SPDX-License-Identifier: Apache-2.0
//
// y = (silu(x W1) * (x W2)) W3, rounded to bf16 after every step     x = x_local: row block of the rank's fsdp index,
// rank (j, i) = (fsdp index, tp index) has row block j of column block i of W1 and W2 [D, F], and column block j of row
// block i of W3 [F, D]; F is summed over tp; y [B/n_fsdp, D], the same within tp; bf16
// The weights are gathered at once, as rows of [W1 | W2 | W3^T].
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& fsdp = comm.group("fsdp");
  const at::Tensor shard = at::cat({in["W1_shard"], in["W2_shard"], in["W3_shard"].t()}, /*dim=*/1);
  at::Tensor weights = at::empty({fsdp.size() * shard.size(0), shard.size(1)}, shard.options());
  fsdp.all_gather_into_tensor(weights, shard);
  const int64_t width = shard.size(1) / 3;  // of the rank's part of F

  const at::Tensor both = at::matmul(in["x_local"], weights.narrow(1, 0, 2 * width));
  const at::Tensor hidden = at::silu(both.narrow(1, 0, width)).mul_(both.narrow(1, width, width));
  at::Tensor y = at::matmul(hidden, weights.narrow(1, 2 * width, width).t());
  comm.group("tp").all_reduce(y);
  return {{"y", y}};
}
PKB_REFERENCE(baseline)
