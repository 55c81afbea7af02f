// SPDX-License-Identifier: Apache-2.0
//
// Exact attention of a sequence that is split over the ranks of a group, in rank order: Ring Attention,
// arXiv:2310.01889. Each rank attends with its own queries to one rank's keys after the other while these go round.
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

/// scores [B, H, S, S] of one block of the sequence with itself: keys after the query become -inf.
inline void mask_future(at::Tensor& scores) {
  const at::Tensor future = at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool)).triu(1);
  scores.masked_fill_(future, -std::numeric_limits<double>::infinity());
}

/// Tensors on their way round the ring.
struct Passing {
  std::vector<at::Tensor> received;  ///< the previous rank's, once `work` has been waited for
  std::unique_ptr<Work> work;

  std::vector<at::Tensor> wait() {
    work->wait();
    return std::move(received);
  }
};

/// Gives every tensor to the next rank of the ring and takes those of the previous one.
inline Passing pass_on(const std::vector<at::Tensor>& tensors, Comm& ring) {
  const int next = (ring.rank() + 1) % ring.size(), previous = (ring.rank() + ring.size() - 1) % ring.size();
  std::vector<at::Tensor> received;
  std::vector<Comm::P2p> operations;
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor sent = tensor.contiguous();
    received.push_back(at::empty_like(sent));
    operations.push_back({Comm::P2p::Kind::send, sent, next});
    operations.push_back({Comm::P2p::Kind::receive, received.back(), previous});
  }
  return {std::move(received), ring.start_batch_send_receive(operations)};
}

/// Attention to some of the keys: out [B, H, S, D] and the logarithm of the sum of exp(score), lse [B, H, S, 1]; fp32.
struct Attended {
  at::Tensor out, lse;
};

inline Attended attend(const at::Tensor& scaled_q, const at::Tensor& k, const at::Tensor& v, bool causal) {
  at::Tensor scores = at::matmul(scaled_q, k.transpose(-2, -1));
  if (causal) mask_future(scores);
  return {at::matmul(at::softmax(scores, -1), v), at::logsumexp(scores, -1, /*keepdim=*/true)};
}

/// Takes further keys in: out <- out + sigmoid(l - L) (o - out),  L <- log(e^L + e^l).
inline void merge(Attended& sum, const Attended& part) {
  sum.out.lerp_(part.out, at::sigmoid(part.lse - sum.lse));
  sum.lse = at::logaddexp(sum.lse, part.lse);
}

/// q, k, v [B, S, H, D] of this rank's tokens; returns bf16 of that shape. Arithmetic is fp32.
inline at::Tensor ring_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                                 bool causal, Comm& ring) {
  const at::Tensor scaled_q = heads_first(q) * scale;
  std::vector<at::Tensor> block{k, v};
  Attended sum;
  for (int t = 0; t < ring.size(); ++t) {
    Passing next;
    if (t + 1 < ring.size()) next = pass_on(block, ring);
    const bool in_future = causal && t > ring.rank();  // the block of rank (r - t) mod W
    if (!in_future) {
      const Attended part = attend(scaled_q, heads_first(block[0]), heads_first(block[1]), causal && t == 0);
      if (t == 0) {
        sum = part;
      } else {
        merge(sum, part);
      }
    }
    if (next.work) block = next.wait();
  }
  return tokens_first(sum.out);
}

/// x [B, S, E] -> attention of x w_qkv^T, times w_o^T: [B, S, E]. The rows of w_qkv [3*h*D, E] are all heads' queries,
/// then keys, then values; h heads of size D are here, w_o [E, h*D].
inline at::Tensor ring_attention_layer(const at::Tensor& x, const at::Tensor& w_qkv, const at::Tensor& w_o,
                                       int64_t head_size, double scale, bool causal, Comm& ring) {
  const std::vector<at::Tensor> qkv = at::linear(x, w_qkv).unflatten(-1, at::IntArrayRef{3, -1, head_size}).unbind(2);
  const at::Tensor context = ring_attention(qkv[0], qkv[1], qkv[2], scale, causal, ring);
  return at::linear(context.flatten(2), w_o);
}

}  // namespace pkb
