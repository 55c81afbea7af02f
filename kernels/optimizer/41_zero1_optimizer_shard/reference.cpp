// SPDX-License-Identifier: Apache-2.0
//
// p <- rank 0's;  g = mean over ranks of the gradient of mean((o - y)^2),  o = relu(X W1^T + b1) W2^T + b2
// m <- b m + (1 - b) g,  v <- B v + (1 - B) g^2,  p <- p - lr m/(1 - b^step) / ((v/(1 - B^step))^0.5 + eps)
// p = (W1, b1, W2, b2) flat, whose r-th of W equal parts rank r updates with m, v = exp_avg_part, exp_avg_sq_part; all
// get all of p; b, B = beta1, beta2; rows X_local, y_local; bf16, rounded after every step (the baseline's Adam at its
// end), products, sums in fp32
#include <pkb/reference.h>

#include "optimizer/zero.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return pkb::sharded_step(in, comm, pkb::adamw_step);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return pkb::sharded_step(in, comm, pkb::rounded_adam_step);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
