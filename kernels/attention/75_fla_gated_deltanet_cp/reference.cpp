// SPDX-License-Identifier: Apache-2.0
//
// S' = d_t S_(t-1),  u_t = b_t (v_t - S'^T k_t),  S_t = S' + k_t u_t^T,  o_t = S_t^T q_t,  of each value head's tokens
// d = exp(-e^a_log log(1 + e^(gate + dt_bias))), b = beta, |k| = 1, |q| = K^-0.5; fp32; o is rounded to bf16
// q, k [B, L, Hq, K], v, out [B, L, Hv, Vd], gate, beta [B, L, Hv] bf16: this rank's tokens; in between rank r has all
// tokens of its Hq/W and Hv/W heads, and it has a_log, dt_bias [Hv/W] of these; value head j uses q head floor(j Hq/Hv)
#include <pkb/reference.h>

#include "attention/delta_rule.h"
#include "collective/ulysses.h"

namespace {

/// [W, B, L, heads, repeats*c] from all ranks as fp32 [B, heads, repeats, W*L, c].
at::Tensor heads_first(const at::Tensor& slices, int64_t repeats) {
  return slices.unflatten(-1, at::IntArrayRef{repeats, -1})
      .permute({1, 3, 4, 0, 2, 5})
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous)
      .flatten(3, 4);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &q = in["q"], &v = in["v"];
  const int64_t batch = q.size(0), tokens = q.size(1), q_heads = q.size(2), keys = q.size(3), values = v.size(3);
  const int64_t repeats = v.size(2) / q_heads, ranks = comm.size(), own = q_heads / ranks;

  // One row a query head: its q, k and its value heads' v, gate and beta.
  const auto rows = [&](const at::Tensor& x) { return x.view({batch, tokens, q_heads, -1}); };
  const at::Tensor packed = at::cat({q, in["k"], rows(v), rows(in["gate"]), rows(in["beta"])}, -1);
  const at::Tensor slices = pkb::exchange_slices(packed, /*scatter=*/2, comm);
  const std::vector<at::Tensor> parts = slices.split_with_sizes({keys, keys, repeats * values, repeats, repeats}, -1);

  const auto by_value_head = [&](const at::Tensor& x) { return x.expand({-1, -1, repeats, -1, -1}).flatten(0, 2); };
  const auto parameter = [&](const char* name) { return in[name].to(at::kFloat).view({own, repeats, 1, 1}); };
  const at::Tensor log_decay =
      at::softplus(heads_first(parts[3], repeats) + parameter("dt_bias")) * parameter("a_log").exp().neg_();
  const double scale = 1 / std::sqrt(static_cast<double>(keys));
  const at::Tensor o = pkb::delta_rule({by_value_head(pkb::normalised(heads_first(parts[0], 1), 1e-6) * scale),
                                        by_value_head(pkb::normalised(heads_first(parts[1], 1), 1e-6)),
                                        by_value_head(heads_first(parts[2], repeats)),
                                        by_value_head(heads_first(parts[4], repeats)), by_value_head(log_decay)});

  at::Tensor sent = at::empty({ranks, batch, tokens, own * repeats, values}, v.options());
  sent.copy_(o.view({batch, own * repeats, ranks, tokens, values}).permute({2, 0, 3, 1, 4}));
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  return {{"out", received.movedim(0, 2).flatten(2, 3)}};
}
PKB_REFERENCE(baseline)
