// SPDX-License-Identifier: Apache-2.0
//
// m <- b m + (1 - b) g,  v <- B v + (1 - B) g^2,  w <- w - lr m/(1 - b^step) / ((v/(1 - B^step))^0.5 + eps)
// g, m, v, w = grad_shard, exp_avg, exp_avg_sq, master_shard [P], which keep their values; b, B = beta1, beta2
// gathered = [w_0 | w_1 | ..] [W*P]; bf16, rounded after every step
#include <pkb/reference.h>

#include "optimizer/adam.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& shard = in["master_shard"];
  const pkb::Moments moments = pkb::updated_moments(in["exp_avg"], in["exp_avg_sq"], in["grad_shard"], in);
  const at::Tensor updated = pkb::adam_updated(shard, moments, in);
  at::Tensor gathered = at::empty({comm.size() * shard.size(0)}, shard.options());
  comm.all_gather_into_tensor(gathered, updated);
  return {{"gathered", gathered}};
}
PKB_REFERENCE(baseline)
