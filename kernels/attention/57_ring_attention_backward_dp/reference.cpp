// SPDX-License-Identifier: Apache-2.0
//
// P = exp(s Q K^T - lse),  dX = P o (dO V^T - rowsum(dO o O)),  dQ = s dX K,  dK = s dX^T Q,  dV = P^T dO,  s = D^-0.5
// over the whole sequence of a replica (causal: keys up to the query); then the mean of the replicas' bf16 gradients
// dout, q, k, v, out, dq, dk, dv [B, S, H, D] bf16, softmax_lse [B, H, S]: the tokens of this cp rank; fp32 inside
#include <pkb/reference.h>

#include "attention/ring_attention.h"

namespace {

/// [B, S, H, D], dk and dv of all keys that are seen.
struct Gradients {
  at::Tensor dq, dk, dv;
};

/// Of attention to k and v [B, T, H, D] by the last queries; the other arguments are those of the problem.
using Backward = Gradients (*)(const pkb::Inputs& in, const at::Tensor& k, const at::Tensor& v, double scale,
                               bool causal);

/// All in fp32.
Gradients exact_backward(const pkb::Inputs& in, const at::Tensor& k, const at::Tensor& v, double scale, bool causal) {
  const at::Tensor dout = pkb::heads_first(in["dout"]), scaled_q = pkb::heads_first(in["q"]) * scale;
  const at::Tensor keys = pkb::heads_first(k), values = pkb::heads_first(v);
  at::Tensor p = at::matmul(scaled_q, keys.transpose(-2, -1)).sub_(in["softmax_lse"].unsqueeze(-1)).exp_();
  if (causal) p.masked_fill_(pkb::in_future(p.size(-2), p.size(-1), p.device()), 0);
  const at::Tensor delta = (dout * in["out"].transpose(1, 2)).sum(-1, /*keepdim=*/true);
  const at::Tensor dx = at::matmul(dout, values.transpose(-2, -1)).sub_(delta).mul_(p);
  return {at::matmul(dx, keys).mul_(scale).transpose(1, 2), at::matmul(dx.transpose(-2, -1), scaled_q).transpose(1, 2),
          at::matmul(p.transpose(-2, -1), dout).transpose(1, 2)};
}

/// P and dX are rounded to bf16 for their products, the results as well.
Gradients flash_backward(const pkb::Inputs& in, const at::Tensor& k, const at::Tensor& v, double scale, bool causal) {
  const at::Tensor &lse = in["softmax_lse"], q = in["q"].transpose(1, 2), dout = in["dout"].transpose(1, 2),
                   out = in["out"].transpose(1, 2), keys = k.transpose(1, 2), values = v.transpose(1, 2);
  if (!pkb::flash_takes(q.size(-1))) return exact_backward(in, k, v, scale, causal);
  std::tuple<at::Tensor, at::Tensor, at::Tensor> gradients;
  if (q.is_cuda()) {
    const at::Tensor no_dropout = at::empty({2}, q.options().dtype(at::kUInt64));
    gradients = at::_scaled_dot_product_flash_attention_backward(dout, q, keys, values, out, lse, {}, {}, q.size(2),
                                                                 keys.size(2), /*dropout_p=*/0, causal, no_dropout,
                                                                 no_dropout, scale);
  } else {
    std::optional<at::Tensor> mask;
    if (causal) mask = pkb::future_mask(in["q"], k);
    gradients = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        dout, q, keys, values, out, lse, /*dropout_p=*/0, /*is_causal=*/false, mask, scale);
  }
  const auto& [dq, dk, dv] = gradients;
  return {dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)};
}

/// What all ranks have for the keys of each is added up in fp32; that of the own keys remains, in bf16.
void sum_at_owners(Gradients& gradients, pkb::Comm& ring) {
  if (ring.size() == 1) return;
  const at::Tensor& dq = gradients.dq;
  const int64_t ranks = ring.size(), tokens = dq.size(1), seen = gradients.dk.size(1) / tokens;
  const std::vector<int64_t> own_shape{2, dq.size(0), tokens, dq.size(2), dq.size(3)};
  std::vector<int64_t> shape = own_shape;
  shape.insert(shape.begin(), ranks);
  at::Tensor parts = at::empty(shape, dq.options().dtype(at::kFloat)), own = at::empty(own_shape, parts.options());
  const auto fill = [&](int64_t which, const at::Tensor& gradient) {
    at::Tensor part = parts.select(1, which);
    part.narrow(0, 0, seen).copy_(gradient.unflatten(1, at::IntArrayRef{seen, tokens}).transpose(0, 1));
  };
  fill(0, gradients.dk);
  fill(1, gradients.dv);
  if (seen < ranks) parts.narrow(0, seen, ranks - seen).zero_();
  ring.reduce_scatter_tensor(own, parts);
  own = own.to(at::kBFloat16);
  gradients.dk = own[0];
  gradients.dv = own[1];
}

pkb::Outputs mean_gradients(const pkb::Inputs& in, pkb::Comm& comm, Backward backward) {
  pkb::Comm& ring = comm.group("cp");
  const bool causal = in.boolean("causal");
  const double scale = pkb::softmax_scale(in, in["q"].size(-1));
  const std::vector<at::Tensor> seen = pkb::seen_keys(in["k"], in["v"], causal, ring);
  Gradients own = backward(in, seen[0], seen[1], scale, causal);
  sum_at_owners(own, ring);
  at::Tensor mean = at::stack({own.dq.to(at::kBFloat16), own.dk.to(at::kBFloat16), own.dv.to(at::kBFloat16)});
  comm.group("dp").all_reduce(mean, pkb::ReduceOp::avg);
  return {{"dq", mean[0]}, {"dk", mean[1]}, {"dv", mean[2]}};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return mean_gradients(in, comm, flash_backward);
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  return mean_gradients(in, comm, exact_backward);
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
