// SPDX-License-Identifier: Apache-2.0
//
// ce[t] = -log_softmax(hidden weight^T)[t, label];  delta = clamp(-ce - old, -20, 20), rho = e^delta;  over the valid
// tokens of all ranks (label != ignore_index), n of them: loss = -sum rho adv / max(n, 1);  metrics = mean rho, min
// rho, max rho, mean (rho - delta - 1), mean ce.   hidden_states [M, N], weight [V, N], bf16, every step rounded to
// bf16; per-token results -ce and -rho*adv, 0 where not valid.   A surrogate, which only gradients see, is added and
// taken off
#include <pkb/reference.h>

#include <limits>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  enum : int64_t { kLoss, kSurrogate, kValid, kRatio, kKl, kCe, kSums, kLeast = kSums, kMost, kPartials };
  const at::Tensor& labels = in["labels"];
  const int64_t ignore_index = in.integer("ignore_index");

  // Rows of what is added up over the tokens.
  const at::Tensor logits = at::linear(in["hidden_states"], in["weight"]);
  at::Tensor rows = at::empty({kSums, labels.size(0)}, logits.options());
  at::Tensor token_loss = rows[kLoss], surrogate = rows[kSurrogate], valid = rows[kValid], valid_ratio = rows[kRatio],
             kl = rows[kKl], ce = rows[kCe];
  at::nll_loss_out(ce, at::log_softmax(logits, -1), labels, {}, at::Reduction::None, ignore_index);
  const at::Tensor logprobs = ce.neg();
  const at::Tensor ignored = labels == ignore_index;
  at::logical_not_out(valid, ignored);
  const at::Tensor delta = (logprobs - in["old_logprobs"]).masked_fill_(ignored, 0).clamp_(-20, 20);
  const at::Tensor ratio = delta.exp();  // 1 where ignored
  at::mul_out(valid_ratio, ratio, valid);
  at::mul_out(token_loss, valid_ratio, in["advantages"]).neg_();
  at::mul_out(surrogate, token_loss, logprobs);
  at::sub_out(kl, ratio, delta).sub_(1);

  // One exchange, of this rank's sums and extremes.
  at::Tensor own = at::empty({kPartials}, rows.options().dtype(at::kFloat));
  at::Tensor sums = own.narrow(0, 0, kSums), extremes = at::empty({2}, rows.options()), least = extremes[0],
             most = extremes[1];
  at::sum_out(sums, rows, at::IntArrayRef{1}, /*keepdim=*/false, at::kFloat);
  at::amin_out(least, ratio.masked_fill(ignored, kInfinity));
  at::amax_out(most, ratio.masked_fill(ignored, -kInfinity));
  own.narrow(0, kLeast, 2).copy_(extremes);
  at::Tensor all = at::empty({comm.size(), kPartials}, own.options());
  comm.all_gather_into_tensor(all, own);

  const at::Tensor totals = all.narrow(1, 0, kSums).sum(0);
  const at::Tensor tokens = totals[kValid].clamp_min(1);
  const at::Tensor means = totals / tokens, own_surrogate = own[kSurrogate] / tokens;
  const at::Tensor metrics = at::cat({means.narrow(0, kRatio, 1), all.select(1, kLeast).amin(0, /*keepdim=*/true),
                                      all.select(1, kMost).amax(0, /*keepdim=*/true), means.narrow(0, kKl, 2)});
  return {{"loss", means[kLoss].add(own_surrogate).sub_(own_surrogate)},
          {"per_token_logprobs", logprobs},
          {"per_token_loss", token_loss},
          {"metrics", metrics}};
}

/// Tighter than the outputs' tolerances, which must allow for one step of a log-probability beyond 16, and for ratios
/// of single tokens: where a step is 0.0625, and for the means.
std::string check(const pkb::Inputs&, const pkb::Outputs& got, const pkb::Outputs& expected, pkb::Comm&) {
  constexpr double kOfToken = 8.5e-2, kOfMean = 2e-2;
  const auto off = [&](const char* name, double relative) {
    const at::Tensor wanted = std::get<at::Tensor>(expected.at(name)).to(at::kDouble);
    const at::Tensor difference = std::get<at::Tensor>(got.at(name)).to(at::kDouble).sub_(wanted).abs_();
    return (difference <= wanted.abs() * relative).logical_not();
  };
  const at::Tensor small_step = std::get<at::Tensor>(expected.at("per_token_logprobs")) >= -16;
  if (off("per_token_loss", kOfToken).logical_and(small_step).any().item<bool>()) {
    return "per_token_loss is off by more than a step of a small log-probability explains";
  }
  const at::Tensor metrics = off("metrics", kOfMean).to(at::kCPU);
  for (const int64_t mean : {0, 3, 4}) {
    if (metrics[mean].item<bool>()) return "a mean in metrics is off by more than 2e-2 of it";
  }
  return {};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, nullptr, check};
  return &reference;
}
