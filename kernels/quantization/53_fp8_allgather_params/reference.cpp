// SPDX-License-Identifier: Apache-2.0
//
// full = [v_0 | v_1 | ..],  v_r = bf16(s_r e4m3(w_r / s_r)),  s_r = max(rolled history of rank r) / 448
// w = flat_param_shard [P], amax_history and updated_hist [L], full [W*P], bf16; every rank gets full
// The history is rolled by one and ends with max|w|. Every rank has a scale of its own.
#include <pkb/reference.h>

#include "quantization/delayed_scaling.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& shard = in["flat_param_shard"];
  const at::Tensor history = delayed_scaling::rolled_history(in["amax_history"], shard);
  const at::Tensor rounded = delayed_scaling::through_fp8(shard, delayed_scaling::scale_of(history));
  at::Tensor full = at::empty({comm.size() * shard.size(0)}, shard.options());
  comm.all_gather_into_tensor(full, rounded);
  return {{"full", full}, {"updated_hist", history}};
}
PKB_REFERENCE(baseline)
