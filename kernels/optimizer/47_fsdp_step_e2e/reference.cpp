// SPDX-License-Identifier: Apache-2.0
//
// g = mean over ranks of the gradient of mean((o - y)^2),  o = relu(X W1^T + b1) W2^T + b2
// m <- b m + (1 - b) g,  v <- B v + (1 - B) g^2
// theta = p - lr m/(1 - b^step) / ((v/(1 - B^step))^0.5 + eps) - lr weight_decay p
// p, m, v = flat_param_shard, exp_avg_shard, exp_avg_sq_shard: r-th of W equal parts of (W1, b1, W2, b2) flat; b, B =
// beta1, beta2; rows X_local, y_local; bf16, rounded after every step of g, at the end of Adam; products, sums in fp32
#include <pkb/reference.h>

#include "optimizer/adam.h"
#include "optimizer/mlp.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& shard = in["flat_param_shard"];
  const pkb::MlpShape shape = pkb::mlp_shape(in);
  at::Tensor p = at::empty({shape.size()}, shard.options());
  comm.all_gather_into_tensor(p, shard);

  at::Tensor g = at::empty_like(shard);
  comm.reduce_scatter_tensor(g, pkb::mlp_gradient(p, shape, in["X_local"], in["y_local"]), pkb::ReduceOp::avg);
  const at::Tensor state = at::stack({shard, in["exp_avg_shard"], in["exp_avg_sq_shard"]});
  const at::Tensor theta = state[0], m = state[1], v = state[2];
  pkb::adamw_step(theta, m, v, g, in);
  return {{"theta", theta}, {"m", m}, {"v", v}};
}
PKB_REFERENCE(baseline)
