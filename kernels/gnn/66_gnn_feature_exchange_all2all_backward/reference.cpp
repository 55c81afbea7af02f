// SPDX-License-Identifier: Apache-2.0
//
// grad_output is cut into slots of counts_sent[i] rows, which go to peer (r + i) mod W; what arrives, slots of
// counts_received[i] rows, is g.   grad_features[s] = sum over the j with seed_inverse_ids[j] = s of g[j]
// grad_features [seed_size, hidden], fp32, zero where no id is s
#include "gnn/rotated_slots.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& gradient = in["grad_output"];
  const at::Tensor arrived = pkb::exchange_slots(gradient, in["counts_sent"], in["counts_received"], comm);
  at::Tensor sums = at::zeros({in.integer("seed_size"), gradient.size(1)}, gradient.options());
  return {{"grad_features", sums.index_add_(0, in["seed_inverse_ids"], arrived)}};
}
PKB_REFERENCE(baseline)
