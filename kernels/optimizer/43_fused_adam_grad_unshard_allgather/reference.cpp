// SPDX-License-Identifier: Apache-2.0
//
// m <- b m + (1 - b) g,  v <- B v + (1 - B) g^2,  w <- w - lr m/(1 - b^step) / ((v/(1 - B^step))^0.5 + eps)
// g, m, v, w = grad_shard, exp_avg, exp_avg_sq, master_shard [P], which keep their values; b, B = beta1, beta2
// gathered = [w_0 | w_1 | ..] [W*P]; bf16, in fp32 between them
#include <pkb/reference.h>

#include "optimizer/adam.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor state = at::stack({in["master_shard"], in["exp_avg"], in["exp_avg_sq"]});
  const at::Tensor w = state[0];
  pkb::adamw_step(w, state[1], state[2], in["grad_shard"], in);
  at::Tensor gathered = at::empty({comm.size() * w.size(0)}, w.options());
  comm.all_gather_into_tensor(gathered, w);
  return {{"gathered", gathered}};
}
PKB_REFERENCE(baseline)
