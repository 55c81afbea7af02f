// SPDX-License-Identifier: Apache-2.0
//
// y[b, s*T + t, h, d] = x_s[b, t, r*NH/W + h, d]        x_s [B, T, NH, D], y [B, W*T, NH/W, D], bf16
// With u = unpadded_dim_size no multiple of W and not 0, y has the first u tokens only.
#include <pkb/reference.h>

#include "collective/ulysses.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  const int64_t sequence = in.integer("seq_dim"), heads = in.integer("head_dim");
  const at::Tensor y = pkb::exchange_axes(in["x"], heads, sequence, group);
  return {{"y", pkb::without_padding(y, sequence, in.integer("unpadded_dim_size"), group)}};
}
PKB_REFERENCE(baseline)
