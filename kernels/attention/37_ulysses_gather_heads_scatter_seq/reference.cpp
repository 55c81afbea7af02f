// SPDX-License-Identifier: Apache-2.0
//
// y[b, t, s*NH + h, d] = x_s[b, r*n + t, h, d],  n = ceil(T/W);  0 where r*n + t >= T
// x_s [B, T, NH, D], y [B, n, W*NH, D], bf16
#include <pkb/reference.h>

#include "collective/ulysses.h"

namespace {

/// Zeros behind x, so that `axis` can be cut into `parts` equal parts.
at::Tensor padded(const at::Tensor& x, int64_t axis, int64_t parts) {
  const int64_t length = x.size(axis), missing = (parts - length % parts) % parts;
  if (missing == 0) return x;
  std::vector<int64_t> pads(static_cast<std::size_t>(2 * (x.dim() - axis)), 0);  // from the last axis backwards
  pads.back() = missing;
  return at::constant_pad_nd(x, pads);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  const int64_t sequence = in.integer("seq_dim"), heads = in.integer("head_dim");
  return {{"y", pkb::exchange_axes(padded(in["x"], sequence, group.size()), sequence, heads, group)}};
}
PKB_REFERENCE(baseline)
