// SPDX-License-Identifier: Apache-2.0
//
// S' = diag(d_t) S_(t-1),  u_t = b_t (v_t - S'^T k_t),  S_t = S' + k_t u_t^T,  o_t = S_t^T q_t,  out = sum over tp of o
// d = exp(lower_bound sigmoid(e^a_log (g + dt_bias))) by channel, b = sigmoid(beta), |k| = 1, |q| = K^-0.5; fp32
// q, k, g [B, L, H, K], v, out [B, L, H, Vd], beta [B, L, H] bf16: this rank's tokens of the cp group's sequence
#include <pkb/reference.h>

#include "attention/delta_rule.h"

namespace {

/// [parts, B, L, H, channels] as fp32 [B*H, parts*L, channels].
at::Tensor by_head(const at::Tensor& parts) {
  return parts.permute({1, 3, 0, 2, 4})
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous)
      .flatten(2, 3)
      .flatten(0, 1);
}

/// The tokens of the cp group up to this rank's last.
at::Tensor gather_history(const std::vector<at::Tensor>& parts, pkb::Comm& cp) {
  const at::Tensor own = at::cat(parts, -1);
  at::Tensor all = at::empty({cp.size(), own.size(0), own.size(1), own.size(2), own.size(3)}, own.options());
  cp.all_gather_into_tensor(all, own);
  return by_head(all.narrow(0, 0, cp.rank() + 1));
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  pkb::Comm &cp = comm.group("cp"), &tp = comm.group("tp");
  const at::Tensor &q = in["q"], &v = in["v"];
  const int64_t batch = q.size(0), tokens = q.size(1), heads = q.size(2), keys = q.size(3), values = v.size(3);

  const at::Tensor history = gather_history({in["k"], v, in["g"], in["beta"].unsqueeze(-1)}, cp);
  const std::vector<at::Tensor> parts = history.split_with_sizes({keys, values, keys, 1}, -1);
  const at::Tensor rate = in["a_log"].to(at::kFloat).exp().view({heads, 1, 1});
  const at::Tensor bias = in["dt_bias"].to(at::kFloat).view({heads, 1, keys});
  const at::Tensor log_decay =
      ((parts[2].unflatten(0, at::IntArrayRef{batch, heads}) + bias) * rate).sigmoid_().mul_(in.real("lower_bound"));
  const double scale = 1 / std::sqrt(static_cast<double>(keys));
  const at::Tensor o =
      pkb::delta_rule({pkb::normalised(by_head(q.unsqueeze(0)), 1e-12) * scale, pkb::normalised(parts[0], 1e-12),
                       parts[1], parts[3].sigmoid(), log_decay.flatten(0, 1)});

  at::Tensor out = at::empty_like(v);
  out.copy_(o.view({batch, heads, tokens, values}).transpose(1, 2));
  if (tp.size() > 1) tp.all_reduce(out);
  return {{"out", out}};
}
PKB_REFERENCE(baseline)
