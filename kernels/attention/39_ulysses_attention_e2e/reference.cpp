// SPDX-License-Identifier: Apache-2.0
//
// out = attention(X w_qkv^T) w_o^T,  attention(q, k, v) = A v,  A = softmax(bf16(q k^T) D^-0.5), every head on its own
// X, out [B, T/W, C] bf16: this rank's tokens; w_qkv [3*C, C]: all heads' q, then k, then v; w_o [C, C]
// In between rank r has all tokens of its NH/W heads. Sums are fp32; scores, A and A v are rounded to bf16.
// attn_seq = 0: softmax over the heads of one token instead of over the tokens of one head.
#include <pkb/reference.h>

#include <cmath>
#include <limits>

#include "collective/ulysses.h"

namespace {

/// q, k, v [.., n, D]: softmax over the n keys.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  at::Tensor scores = at::matmul(q, k.transpose(-2, -1)).mul_(1 / std::sqrt(static_cast<double>(q.size(-1))));
  if (causal) {
    const at::Tensor future = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).triu(1);
    scores.masked_fill_(future, -std::numeric_limits<double>::infinity());
  }
  return at::matmul(at::softmax(scores, -1), v);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& group = comm.group(in.string("group"));
  const bool over_tokens = in.param("attn_seq") == 1;
  const at::Tensor& x = in["hidden_states"];
  const at::Tensor own = at::linear(x, in["w_qkv"]).unflatten(-1, at::IntArrayRef{3, in.integer("num_heads"), -1});

  const at::Tensor slices = pkb::exchange_slices(own, /*scatter=*/3, group);                // [W, B, T/W, 3, NH/W, D]
  const at::Tensor q_k_v = over_tokens ? slices.permute({3, 1, 4, 0, 2, 5}).flatten(3, 4)   // [3, B, NH/W, T, D]
                                       : slices.permute({3, 1, 0, 2, 4, 5}).flatten(2, 3);  // [3, B, T, NH/W, D]
  at::Tensor y = attention(q_k_v[0], q_k_v[1], q_k_v[2], in.boolean("causal"));
  if (over_tokens) y = y.transpose(1, 2);
  return {{"out", at::linear(pkb::exchange_axes(y, /*scatter=*/1, /*gather=*/2, group).flatten(2), in["w_o"])}};
}
PKB_REFERENCE(baseline)
