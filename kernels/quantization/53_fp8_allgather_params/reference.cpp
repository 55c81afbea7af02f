// SPDX-License-Identifier: Apache-2.0
//
// full = [v_0 | v_1 | ..],  v_r = bf16(s_r e4m3(w_r / s_r)),  s_r = max(rolled history of rank r) / 448
// w = flat_param_shard [P], amax_history and updated_hist [L], full [W*P], bf16; every rank gets full
// The history is rolled by one and ends with max|w|. Every rank has a scale of its own.
#include <pkb/reference.h>

#include "quantization/delayed_scaling.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  constexpr int64_t kAligned = 16;
  const at::Tensor& shard = in["flat_param_shard"];
  const at::Tensor history = delayed_scaling::rolled_history(in["amax_history"], shard);

  // A rank's message: its codes, then its scale.
  const int64_t count = shard.size(0), place = (count + kAligned - 1) / kAligned * kAligned;
  const at::Tensor own = at::empty({place + kAligned}, shard.options().dtype(at::kByte));
  at::Tensor codes = own.narrow(0, 0, count).view(at::kFloat8_e4m3fn);
  at::Tensor scale = own.narrow(0, place, sizeof(float)).view(at::kFloat);
  delayed_scaling::scale_into(scale, history);
  at::div_out(codes, shard, scale);

  at::Tensor all = at::empty({comm.size(), own.size(0)}, own.options());
  comm.all_gather_into_tensor(all, own);
  const at::Tensor full = delayed_scaling::decoded(all.narrow(1, 0, count).view(at::kFloat8_e4m3fn),
                                                   all.narrow(1, place, sizeof(float)).view(at::kFloat));
  return {{"full", full.view(-1)}, {"updated_hist", history}};
}
PKB_REFERENCE(baseline)
