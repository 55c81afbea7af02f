// SPDX-License-Identifier: Apache-2.0
//
// z[b, s*T + t, c, j] = qkv_s[b, t, c*P + r*P/W + j],  c = 0 1 2 for q k v,  P = NH*D
// qkv_s [B, T, 3*P], y [B, W*T, 3*P/W] (restore_shape), else z itself, [B, W*T, 3, P/W]; bf16
// With u = unpadded_dim_size no multiple of W and not 0 or null, y has the first u tokens only.
#include <pkb/reference.h>

#include "collective/ulysses.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  const int64_t sequence = in.integer("seq_dim");
  const int64_t length = in.is_null("unpadded_dim_size") ? 0 : in.integer("unpadded_dim_size");
  const at::Tensor parts = in["qkv"].unflatten(-1, at::IntArrayRef{3, -1});
  at::Tensor y = pkb::exchange_axes(parts, parts.dim() - 1, sequence, group);
  if (in.boolean("restore_shape")) y = y.flatten(-2);
  return {{"y", pkb::without_padding(y, sequence, length, group)}};
}
PKB_REFERENCE(baseline)
