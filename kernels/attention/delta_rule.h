// SPDX-License-Identifier: Apache-2.0
//
// The gated delta rule, in chunks of tokens instead of token by token: Gated Delta Networks, arXiv:2412.06464;
// with a decay of its own for every key channel: Kimi Linear, arXiv:2510.26692.
#pragma once

#include <pkb/reference.h>

#include <array>
#include <cmath>
#include <numeric>

namespace pkb {

/// Of every head, fp32: k [N, T, K], v [N, T, V], strength [N, T, 1] and log_decay [N, T, K] or [N, T, 1], at most 0;
/// q [N, tokens, K] of the last tokens, whose number divides T.
struct DeltaRule {
  at::Tensor q, k, v, strength, log_decay;
};

/// x / max(|x|, eps) along the last axis.
inline at::Tensor normalised(const at::Tensor& x, double eps) {
  return x / at::linalg_vector_norm(x, 2, at::IntArrayRef{-1}, /*keepdim=*/true).clamp_min_(eps);
}

/// [.., C, C]: sum over channels of x_i y_j e^(decay_i - decay_j) for j <= i, where decay falls along the chunk [.., C,
/// K or 1]; what is above the diagonal is of no use.
inline at::Tensor decayed_products(const at::Tensor& x, const at::Tensor& y, const at::Tensor& decay) {
  if (decay.size(-1) == 1) return at::matmul(x, y.transpose(-2, -1)) * (decay - decay.transpose(-2, -1)).exp_();
  // Both factors from a token close to i, or e^(-decay_j) overflows: 16 tokens at most -5 each stay above e^-80.
  constexpr int64_t kMostRows = 16;
  constexpr double kMostNeeded = 80;
  const std::array<int64_t, 2> by_rows{-1, std::gcd(decay.size(-2), kMostRows)};
  const at::Tensor rows = decay.unflatten(-2, by_rows);
  const at::Tensor first = rows.narrow(-2, 0, 1);
  const at::Tensor left = x.unflatten(-2, by_rows) * (rows - first).exp_();
  const at::Tensor right = y.unsqueeze(-3) * (first - decay.unsqueeze(-3)).clamp_max_(kMostNeeded).exp_();
  return at::matmul(left, right.transpose(-2, -1)).flatten(-3, -2);
}

/// o [N, tokens, V] of q's tokens, o_t = S_t^T q_t of the states S [K, V], 0 before the first token:
///   S' = diag(e^log_decay_t) S_(t-1),  u_t = strength_t (v_t - S'^T k_t),  S_t = S' + k_t u_t^T
inline at::Tensor delta_rule(const DeltaRule& in) {
  constexpr int64_t kLongestChunk = 64;
  const int64_t size = std::gcd(in.q.size(1), kLongestChunk);
  const auto chunks = [&](const at::Tensor& x) { return x.unflatten(1, at::IntArrayRef{-1, size}); };  // [N, .., C, ..]
  const at::Tensor q = chunks(in.q), k = chunks(in.k), v = chunks(in.v), strength = chunks(in.strength);
  const at::Tensor decay = chunks(in.log_decay).cumsum(-2), fade = decay.exp();  // since the chunk's start
  const int64_t count = k.size(1), own = q.size(1);
  const auto of_own = [&](const at::Tensor& x) { return x.narrow(1, count - own, own); };
  const auto but_last = [&](const at::Tensor& x) { return x.narrow(1, 0, count - 1); };

  // u_i + strength_i sum_(j<i) (k_i e^(decay_i - decay_j) k_j) u_j = strength_i (v_i - S^T (e^decay_i k_i)) for the
  // state S at the chunk's start: solved for both parts of the right side.
  const at::Tensor earlier = decayed_products(k, k, decay).tril_(-1).mul_(strength);
  const at::Tensor right = at::cat({v, k * fade}, -1).mul_(strength);
  const at::Tensor solved = at::linalg_solve_triangular(earlier, right, /*upper=*/false, /*left=*/true,
                                                        /*unitriangular=*/true);
  const at::Tensor from_values = solved.narrow(-1, 0, v.size(-1)),
                   from_state = solved.narrow(-1, v.size(-1), k.size(-1));

  // The state at the next chunk's start is step S + gain.
  const at::Tensor whole = but_last(decay).narrow(-2, size - 1, 1);
  const at::Tensor added = (but_last(k) * (whole - but_last(decay)).exp_()).transpose(-2, -1);
  const at::Tensor step = at::matmul(added, but_last(from_state)).neg_();
  step.diagonal(0, -2, -1).add_(whole.exp().squeeze(-2));
  const at::Tensor states = at::constant_pad_nd(at::matmul(added, but_last(from_values)), {0, 0, 0, 0, 1, 0});
  for (int64_t i = 0; i + 1 < count; ++i) states.select(1, i + 1).baddbmm_(step.select(1, i), states.select(1, i));

  const at::Tensor at_start = of_own(states);
  const at::Tensor updates = of_own(from_values) - at::matmul(of_own(from_state), at_start);
  const at::Tensor inherited = at::matmul(q * of_own(fade), at_start);
  const at::Tensor within = at::matmul(decayed_products(q, of_own(k), of_own(decay)).tril_(), updates);
  return (inherited + within).flatten(1, 2);
}

}  // namespace pkb
