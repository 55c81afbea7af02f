// SPDX-License-Identifier: Apache-2.0
//
// S' = d_t S_(t-1),  u_t = b_t (v_t - S'^T k_t),  S_t = S' + k_t u_t^T,  o_t = S_t^T q_t,  of each value head's tokens
// d = exp(-e^a_log log(1 + e^(gate + dt_bias))), b = beta, |k| = 1, |q| = K^-0.5; fp32; o is rounded to bf16
// q, k [B, L, Hq, K], v, out [B, L, Hv, Vd], gate, beta [B, L, Hv] bf16: this rank's tokens; in between rank r has all
// tokens of its Hq/W and Hv/W heads, and it has a_log, dt_bias [Hv/W] of these; value head j uses q head floor(j Hq/Hv)
#include <pkb/reference.h>

#include "attention/delta_rule.h"

namespace {

/// [W, B, L, heads*c] from all ranks as fp32 [B, heads, W*L, c].
at::Tensor by_head(const at::Tensor& slices, int64_t heads) {
  return slices.unflatten(-1, at::IntArrayRef{heads, -1})
      .permute({1, 3, 0, 2, 4})
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous)
      .flatten(2, 3);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &q = in["q"], &v = in["v"];
  const int64_t batch = q.size(0), tokens = q.size(1), keys = q.size(3), values = v.size(3), ranks = comm.size();
  const int64_t own_q = q.size(2) / ranks, own_v = v.size(2) / ranks, repeats = own_v / own_q;

  // A rank's heads of all five in one row.
  const auto by_rank = [&](const char* name) {
    return in[name].view({batch, tokens, ranks, -1}).permute({2, 0, 1, 3});
  };
  const at::Tensor packed = at::cat({by_rank("q"), by_rank("k"), by_rank("v"), by_rank("gate"), by_rank("beta")}, -1);
  at::Tensor slices = at::empty_like(packed);
  comm.all_to_all_single(slices, packed);
  const std::vector<at::Tensor> parts =
      slices.split_with_sizes({own_q * keys, own_q * keys, own_v * values, own_v, own_v}, -1);

  const auto of_value_heads = [&](const at::Tensor& x) {
    return x.unsqueeze(2).expand({-1, -1, repeats, -1, -1}).flatten(0, 2);
  };
  const auto parameter = [&](const char* name) { return in[name].to(at::kFloat).view({own_v, 1, 1}); };
  const at::Tensor log_decay =
      at::softplus(by_head(parts[3], own_v) + parameter("dt_bias")) * parameter("a_log").exp().neg_();
  const double scale = 1 / std::sqrt(static_cast<double>(keys));
  const at::Tensor o = pkb::delta_rule({of_value_heads(pkb::normalised(by_head(parts[0], own_q), 1e-6) * scale),
                                        of_value_heads(pkb::normalised(by_head(parts[1], own_q), 1e-6)),
                                        by_head(parts[2], own_v).flatten(0, 1), by_head(parts[4], own_v).flatten(0, 1),
                                        log_decay.flatten(0, 1)});

  at::Tensor sent = at::empty({ranks, batch, tokens, own_v, values}, v.options());
  sent.copy_(o.view({batch, own_v, ranks, tokens, values}).permute({2, 0, 3, 1, 4}));
  at::Tensor received = at::empty_like(sent);
  comm.all_to_all_single(received, sent);
  return {{"out", received.movedim(0, 2).flatten(2, 3)}};
}
PKB_REFERENCE(baseline)
