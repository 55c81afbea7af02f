// SPDX-License-Identifier: Apache-2.0
//
// y_r = silu(X_r W1_r) W2_r,  X_r = rows r*M/W .. (r+1)*M/W - 1 of [x_0 | x_1 | ..]    rounded to bf16 at every step
// x_s = x_local [M, H/W], W1_r [H, F], W2_r [F, H], y_r = y_local [M/W, H], bf16
// Two baselines. As such layers are written: all rows of X are gathered and multiplied, and the result reduce-scattered
// from a matrix that is zero but for the own rows. Or: the blocks that are needed are exchanged, and no more is done.
#include <pkb/reference.h>

pkb::Outputs gather_and_scatter(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x_local"];
  const int64_t own = x.size(0) / comm.size(), first = comm.rank() * own;
  std::vector<at::Tensor> columns;
  for (int s = 0; s < comm.size(); ++s) columns.push_back(at::empty_like(x));
  comm.all_gather(columns, x);
  const at::Tensor activated = at::silu(at::matmul(at::cat(columns, /*dim=*/1), in["W1"]));
  const at::Tensor product = at::matmul(activated.narrow(0, first, own), in["W2"]);

  at::Tensor padded = at::zeros({x.size(0), product.size(1)}, x.options());
  padded.narrow(0, first, own).copy_(product);
  at::Tensor y = at::empty_like(product);
  comm.reduce_scatter_tensor(y, padded);
  return {{"y_local", y}};
}

pkb::Outputs exchange(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& x = in["x_local"];
  const int64_t ranks = comm.size(), own = x.size(0) / ranks, width = x.size(1);
  at::Tensor blocks = at::empty({ranks, own, width}, x.options());
  comm.all_to_all_single(blocks, x.view({ranks, own, width}));
  const at::Tensor rows = blocks.transpose(0, 1).reshape({own, ranks * width});
  return {{"y_local", at::matmul(at::silu(at::matmul(rows, in["W1"])), in["W2"])}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"gather_and_scatter", gather_and_scatter}, {"exchange", exchange}}, nullptr};
  return &reference;
}
