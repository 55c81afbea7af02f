// SPDX-License-Identifier: Apache-2.0
//
// p, m, v <- rank 0's;  g = mean over ranks of the gradient of mean((o - y)^2),  o = relu(X W1^T + b1) W2^T + b2
// m <- b m + (1 - b) g,  v <- B v + (1 - B) g^2,  p <- p - lr m/(1 - b^step) / ((v/(1 - B^step))^0.5 + eps)
// p = (W1, b1, W2, b2), m = exp_avg_*, v = exp_avg_sq_* flat; b, B = beta1, beta2; rows X_local, y_local; all ranks get
// p, m, v; bf16, rounded after every step (the baseline's Adam at its end), products and sums of a rank in fp32
#include <pkb/reference.h>

#include "optimizer/adam.h"
#include "optimizer/mlp.h"

namespace {

pkb::Outputs train(const pkb::Inputs& in, pkb::Comm& comm, pkb::AdamStep adam) {
  const pkb::MlpShape shape = pkb::mlp_shape(in);
  const at::Tensor state =
      pkb::of_rank_0(in,
                     {"W1", "b1", "W2", "b2", "exp_avg_W1", "exp_avg_b1", "exp_avg_W2", "exp_avg_b2", "exp_avg_sq_W1",
                      "exp_avg_sq_b1", "exp_avg_sq_W2", "exp_avg_sq_b2"},
                     comm);
  const std::vector<at::Tensor> parts = state.chunk(3);
  const at::Tensor &p = parts[0], &m = parts[1], &v = parts[2];

  at::Tensor g = pkb::mlp_gradient(p, shape, in["X_local"], in["y_local"]);
  comm.all_reduce(g, pkb::ReduceOp::avg);
  adam(p, m, v, g, in);

  const pkb::Mlp parameters = pkb::mlp_parts(p, shape), first = pkb::mlp_parts(m, shape),
                 second = pkb::mlp_parts(v, shape);
  return {{"W1_new", parameters.w1}, {"b1_new", parameters.b1}, {"W2_new", parameters.w2}, {"b2_new", parameters.b2},
          {"m_W1", first.w1},        {"m_b1", first.b1},        {"m_W2", first.w2},        {"m_b2", first.b2},
          {"v_W1", second.w1},       {"v_b1", second.b1},       {"v_W2", second.w2},       {"v_b2", second.b2}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return train(in, comm, pkb::adamw_step);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return train(in, comm, pkb::rounded_adam_step);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
