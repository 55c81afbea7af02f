// SPDX-License-Identifier: Apache-2.0
//
// y = (silu(x W1) * (x W2)) W3, rounded to bf16 after every step     x = x_local: row block of the rank's fsdp index,
// rank (j, i) = (fsdp index, tp index) has row block j of column block i of W1 and W2 [D, F], and column block j of row
// block i of W3 [F, D]; F is summed over tp; y [B/n_fsdp, D], the same within tp; bf16
#include <pkb/reference.h>

namespace {

at::Tensor gathered_rows(const at::Tensor& shard, pkb::Comm& comm) {
  at::Tensor whole = at::empty({comm.size() * shard.size(0), shard.size(1)}, shard.options());
  comm.all_gather_into_tensor(whole, shard);
  return whole;
}

at::Tensor gathered_columns(const at::Tensor& shard, pkb::Comm& comm) {
  std::vector<at::Tensor> shards;
  for (int s = 0; s < comm.size(); ++s) shards.push_back(at::empty_like(shard));
  comm.all_gather(shards, shard);
  return at::cat(shards, /*dim=*/1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x_local"];
  pkb::Comm& fsdp = comm.group("fsdp");
  const at::Tensor w1 = gathered_rows(in["W1_shard"], fsdp), w2 = gathered_rows(in["W2_shard"], fsdp);
  const at::Tensor w3 = gathered_columns(in["W3_shard"], fsdp);
  const at::Tensor hidden = at::silu(at::matmul(x, w1)) * at::matmul(x, w2);
  at::Tensor y = at::matmul(hidden, w3);
  comm.group("tp").all_reduce(y);
  return {{"y", y}};
}
PKB_REFERENCE(baseline)
