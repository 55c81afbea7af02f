// SPDX-License-Identifier: Apache-2.0
//
// y_r = [x_0[r] | x_1[r] | ..]  joined along axis gather_dim,  x_s[r]: the r-th of W slices of x_s along scatter_dim
// scatter 0, gather 1: x [M, N], y [M/W, W*N];   scatter 1, gather 0: y [W*M, N/W];   bf16
#include <pkb/reference.h>

#include "collective/ulysses.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  return {{"y", pkb::exchange_axes(in["x"], in.integer("scatter_dim"), in.integer("gather_dim"), group)}};
}
PKB_REFERENCE(baseline)
