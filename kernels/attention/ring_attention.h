// SPDX-License-Identifier: Apache-2.0
//
// Attention of a sequence that is split over the ranks of a group, in rank order. Ring Attention (arXiv:2310.01889)
// computes the same with one rank's keys after the other.
#pragma once

#include <pkb/reference.h>

#include <cmath>
#include <limits>

namespace pkb {

/// The scalar softmax_scale, null: D^-0.5.
inline double softmax_scale(const Inputs& in, int64_t head_size) {
  return in.is_null("softmax_scale") ? 1 / std::sqrt(static_cast<double>(head_size)) : in.real("softmax_scale");
}

/// [B, S, H, D] as fp32 [B, H, S, D].
inline at::Tensor heads_first(const at::Tensor& x) {
  return x.transpose(1, 2).to(at::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous);
}

/// fp32 [B, H, S, D] as bf16 [B, S, H, D].
inline at::Tensor tokens_first(const at::Tensor& x) {
  return x.transpose(1, 2).to(at::kBFloat16, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous);
}

/// [S, T], true where a key comes after the query; the queries are the last S of T tokens.
inline at::Tensor in_future(int64_t queries, int64_t keys, at::Device device) {
  return at::ones({queries, keys}, at::TensorOptions().dtype(at::kBool).device(device)).triu(keys - queries + 1);
}

/// What in_future() says, to be added to scores.
inline at::Tensor future_mask(const at::Tensor& q, const at::Tensor& k) {
  const at::Tensor mask = at::zeros({q.size(1), k.size(1)}, q.options());
  return mask.masked_fill(in_future(q.size(1), k.size(1), q.device()), -std::numeric_limits<double>::infinity());
}

/// LibTorch's flash attention wants this of heads.
inline bool flash_takes(int64_t head_size) {
  return head_size % 8 == 0 && head_size <= 256;
}

/// q [B, S, H, D], the last tokens of a sequence, attend to all of it, k and v [B, T, H, D]; bf16 of the shape of q.
using Attention = at::Tensor (*)(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                                 bool causal);

/// Scores, probabilities and sums in fp32.
inline at::Tensor exact_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                                  bool causal) {
  at::Tensor scores = at::matmul(heads_first(q) * scale, heads_first(k).transpose(-2, -1));
  if (causal) {
    scores.masked_fill_(in_future(q.size(1), k.size(1), q.device()), -std::numeric_limits<double>::infinity());
  }
  return tokens_first(at::matmul(at::softmax(scores, -1), heads_first(v)));
}

/// Probabilities are rounded to bf16 for the product with the values.
inline at::Tensor flash_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                                  bool causal) {
  if (!flash_takes(q.size(-1))) return exact_attention(q, k, v, scale, causal);
  const at::Tensor heads = q.transpose(1, 2), keys = k.transpose(1, 2), values = v.transpose(1, 2);
  if (q.is_cuda()) {
    return std::get<0>(at::_scaled_dot_product_flash_attention(heads, keys, values, /*dropout_p=*/0, causal,
                                                               /*return_debug_mask=*/false, scale))
        .transpose(1, 2);
  }
  // The CPU has another operator, for which causal means that the first tokens, not the last, belong together.
  std::optional<at::Tensor> mask;
  if (causal) mask = future_mask(q, k);
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(heads, keys, values, /*dropout_p=*/0,
                                                                     /*is_causal=*/false, mask, scale))
      .transpose(1, 2);
}

/// The tokens of the ranks of which this one sees keys, if causal those up to its own: x [B, S, ..] -> [B, T, ..].
inline at::Tensor seen_tokens(const at::Tensor& x, bool causal, Comm& ring) {
  if (ring.size() == 1) return x;
  std::vector<int64_t> shape = x.sizes().vec();
  shape.insert(shape.begin(), ring.size());
  at::Tensor all = at::empty(shape, x.options());
  ring.all_gather_into_tensor(all, x);
  return all.narrow(0, 0, causal ? ring.rank() + 1 : ring.size()).transpose(0, 1).flatten(1, 2);
}

/// The keys and values of seen_tokens(), in one exchange.
inline std::vector<at::Tensor> seen_keys(const at::Tensor& k, const at::Tensor& v, bool causal, Comm& ring) {
  if (ring.size() == 1) return {k, v};
  return seen_tokens(at::stack({k, v}, 2), causal, ring).unbind(2);
}

/// x [B, S, E] -> attention of x w_qkv^T, times w_o^T: [B, S, E]. The rows of w_qkv [3*h*D, E] are all heads' queries,
/// then keys, then values; h heads of size D are here, w_o [E, h*D].
inline at::Tensor attention_layer(const at::Tensor& x, const at::Tensor& w_qkv, const at::Tensor& w_o,
                                  int64_t head_size, double scale, bool causal, Comm& ring, Attention attention) {
  const auto heads = [&](const at::Tensor& y, int64_t parts) {
    return y.unflatten(-1, at::IntArrayRef{parts, -1, head_size}).unbind(2);
  };
  const int64_t width = w_qkv.size(0) / 3;
  at::Tensor context;
  if (ring.size() == 1) {
    const std::vector<at::Tensor> qkv = heads(at::linear(x, w_qkv), 3);
    context = attention(qkv[0], qkv[1], qkv[2], scale, causal);
  } else {
    const at::Tensor q = at::linear(x, w_qkv.narrow(0, 0, width)),
                     kv = at::linear(x, w_qkv.narrow(0, width, 2 * width));
    const std::vector<at::Tensor> seen = heads(seen_tokens(kv, causal, ring), 2);
    context = attention(heads(q, 1)[0], seen[0], seen[1], scale, causal);
  }
  return at::linear(context.flatten(2), w_o);
}

}  // namespace pkb
