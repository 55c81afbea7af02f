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
  const at::Tensor &labels = in["labels"], &old_logprobs = in["old_logprobs"];
  const int64_t ignore_index = in.integer("ignore_index");
  const auto reduced = [&](at::Tensor value, pkb::ReduceOp op = pkb::ReduceOp::sum) {
    comm.all_reduce(value, op);
    return value;
  };

  const at::Tensor logits = at::linear(in["hidden_states"], in["weight"]);
  const at::Tensor ce = at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, ignore_index);
  const at::Tensor logprobs = ce.neg();
  const at::Tensor ignored = labels == ignore_index;
  const at::Tensor tokens = reduced(ignored.logical_not().sum(at::kFloat)).clamp_min_(1);

  const at::Tensor delta = (logprobs - old_logprobs).masked_fill_(ignored, 0).clamp_(-20, 20);
  const at::Tensor ratio = delta.exp();
  const at::Tensor gain = (ratio * in["advantages"]).masked_fill_(ignored, 0);
  const at::Tensor token_loss = gain.neg();
  const at::Tensor mean_loss = reduced(token_loss.sum()) / tokens;
  const at::Tensor surrogate = (gain * ce).sum() / tokens;

  const at::Tensor mean_ratio = reduced(ratio.masked_fill(ignored, 0).sum()) / tokens;
  const at::Tensor least = reduced(ratio.masked_fill(ignored, kInfinity).amin(), pkb::ReduceOp::min);
  const at::Tensor most = reduced(ratio.masked_fill(ignored, -kInfinity).amax(), pkb::ReduceOp::max);
  const at::Tensor mean_kl = reduced(ratio.sub(delta).sub_(1).masked_fill_(ignored, 0).sum()) / tokens;
  const at::Tensor mean_ce = reduced(ce.sum()) / tokens;
  return {{"loss", mean_loss.add(surrogate).sub_(surrogate)},
          {"per_token_logprobs", logprobs},
          {"per_token_loss", token_loss},
          {"metrics", at::stack({mean_ratio, least.to(at::kFloat), most.to(at::kFloat), mean_kl, mean_ce})}};
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
