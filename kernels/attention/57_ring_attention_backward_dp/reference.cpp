// SPDX-License-Identifier: Apache-2.0
//
// P = exp(s Q K^T - lse),  dX = P o (dO V^T - rowsum(dO o O)),  dQ = s dX K,  dK = s dX^T Q,  dV = P^T dO,  s = D^-0.5
// over the whole sequence of a replica (causal: keys up to the query); then the mean of the replicas' bf16 gradients
// dout, q, k, v, out, dq, dk, dv [B, S, H, D] bf16, softmax_lse [B, H, S]: the tokens of this cp rank; fp32 inside
#include <pkb/reference.h>

#include "attention/ring_attention.h"

namespace {

/// What a block of keys needs of this rank's queries; fp32 [B, H, S, D], lse and delta [B, H, S, 1].
struct Queries {
  at::Tensor dout, scaled_q, lse, delta;
};

struct Gradients {
  at::Tensor dq, dk, dv;  // dq: without the factor s
};

Gradients block_gradients(const Queries& own, const at::Tensor& k, const at::Tensor& v, bool causal) {
  at::Tensor scores = at::matmul(own.scaled_q, k.transpose(-2, -1));
  if (causal) pkb::mask_future(scores);
  const at::Tensor p = scores.sub_(own.lse).exp_();
  at::Tensor dx = at::matmul(own.dout, v.transpose(-2, -1)).sub_(own.delta).mul_(p);
  const at::Tensor dx_t = dx.transpose(-2, -1);
  return {at::matmul(dx, k), at::matmul(dx_t, own.scaled_q), at::matmul(p.transpose(-2, -1), own.dout)};
}

/// Keys and values go round the ring, and behind them the sums of their gradients, which end at their owner.
Gradients ring_gradients(const Queries& own, const at::Tensor& k, const at::Tensor& v, bool causal, pkb::Comm& ring) {
  std::vector<at::Tensor> block{k, v};
  Gradients sum;
  pkb::Passing sums_on_their_way;
  for (int t = 0; t < ring.size(); ++t) {
    pkb::Passing next;
    if (t + 1 < ring.size()) next = pkb::pass_on(block, ring);
    const bool in_future = causal && t > ring.rank();
    Gradients part;
    if (!in_future)
      part = block_gradients(own, pkb::heads_first(block[0]), pkb::heads_first(block[1]), causal && t == 0);
    if (t == 0) {
      sum = part;
    } else {
      const std::vector<at::Tensor> sums = sums_on_their_way.wait();
      sum.dk = sums[0];
      sum.dv = sums[1];
      if (!in_future) {
        sum.dq.add_(part.dq);
        sum.dk.add_(part.dk);
        sum.dv.add_(part.dv);
      }
    }
    if (ring.size() > 1) sums_on_their_way = pkb::pass_on({sum.dk, sum.dv}, ring);
    if (next.work) block = next.wait();
  }
  if (ring.size() == 1) return sum;
  const std::vector<at::Tensor> home = sums_on_their_way.wait();
  return {sum.dq, home[0], home[1]};
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm& replicas = comm.group("dp");
  const at::Tensor& q = in["q"];
  const double scale = pkb::softmax_scale(in, q.size(-1));
  const at::Tensor dout = pkb::heads_first(in["dout"]);
  const at::Tensor delta = (dout * in["out"].transpose(1, 2)).sum(-1, /*keepdim=*/true);
  const Queries own{dout, pkb::heads_first(q) * scale, in["softmax_lse"].unsqueeze(-1), delta};
  const Gradients sum = ring_gradients(own, in["k"], in["v"], in.boolean("causal"), comm.group("cp"));

  at::Tensor gradients = at::empty({3, q.size(0), q.size(1), q.size(2), q.size(3)}, q.options());
  gradients[0].copy_((sum.dq * scale).transpose(1, 2));
  gradients[1].copy_(sum.dk.transpose(1, 2));
  gradients[2].copy_(sum.dv.transpose(1, 2));
  replicas.all_reduce(gradients);
  gradients.mul_(1.0 / replicas.size());
  return {{"dq", gradients[0]}, {"dk", gradients[1]}, {"dv", gradients[2]}};
}
PKB_REFERENCE(baseline)
