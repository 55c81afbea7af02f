// SPDX-License-Identifier: Apache-2.0
//
// y = sum_s x_s            x_s [M, N], bf16; every rank gets y, x stays as it is
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  at::Tensor y = in["x"].clone();
  comm.all_reduce(y);
  return {{"y", y}};
}
PKB_REFERENCE(baseline)
