// SPDX-License-Identifier: Apache-2.0
//
// out_r = part r of sum_s bf16(s_s e4m3(g_s / s_s)) / W,  s_s = max(rolled history of rank s) / 448
// g = flat_grads [W*P], amax_history and updated_hist [L], out_r = out_shard [P], bf16
// The history is rolled by one and ends with max|g|. Every rank has a scale of its own.
#include <pkb/reference.h>

#include "quantization/delayed_scaling.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& gradients = in["flat_grads"];
  const at::Tensor history = delayed_scaling::rolled_history(in["amax_history"], gradients);
  at::Tensor scale = at::empty({1}, gradients.options().dtype(at::kFloat));
  delayed_scaling::scale_into(scale, history);
  at::Tensor codes = at::empty_like(gradients, gradients.options().dtype(at::kFloat8_e4m3fn));
  at::div_out(codes, gradients, scale);

  at::Tensor shard = at::empty({gradients.size(0) / comm.size()}, gradients.options());
  comm.reduce_scatter_tensor(shard, delayed_scaling::decoded(codes, scale), pkb::ReduceOp::avg);
  return {{"out_shard", shard}, {"updated_hist", history}};
}
PKB_REFERENCE(baseline)
