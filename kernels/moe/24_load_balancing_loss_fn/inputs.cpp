// SPDX-License-Identifier: Apache-2.0
//
// gate_logits = normal + b_r[e],  b = 1.5 * normal: experts and ranks differ. Of 32 candidates for b, those whose
// losses differ between ranks by more than a quarter are in question; draws of even number take the one with the
// smallest loss, the others that with the largest, so that neighbouring draws differ by far more than the tolerance.
// Case `ties`: every fourth token is indifferent.
#include <pkb/inputs.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int64_t kCandidates = 32;
constexpr int64_t kSample = 1024;  // tokens that the choice looks at
constexpr double kSpread = 1.25;

at::Tensor logits_of(const pkb::DrawRequest& request, const at::Tensor& noise, const at::Tensor& bias) {
  at::Tensor logits = (noise + bias).to(at::kBFloat16);
  if (request.case_name == "ties") logits.slice(-2, 0, logits.size(-2), 4).zero_();
  return logits;
}

at::Tensor bias_of(const pkb::DrawRequest& request, const pkb::Draws& draws, int rank, int64_t candidate) {
  return draws.attempt(candidate).normal("bias", rank, {request.param("E")}, 0, 1.5);
}

/// Of many tokens' logits [..., tokens, experts].
at::Tensor losses_of(const at::Tensor& logits, int64_t top_k) {
  const at::Tensor weights = at::softmax(logits.to(at::kDouble), -1);
  const at::Tensor order = std::get<1>(at::sort(weights, /*stable=*/true, /*dim=*/-1, /*descending=*/true));
  const at::Tensor chosen = order.narrow(-1, 0, top_k);
  const at::Tensor share = at::zeros_like(weights).scatter_(-1, chosen, 1).mean(-2);
  return (share * weights.mean(-2)).sum(-1) * static_cast<double>(weights.size(-1));
}

/// By candidate and rank.
at::Tensor losses_of_candidates(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t tokens = std::min(request.param("M"), kSample);
  std::vector<at::Tensor> losses;
  for (int r = 0; r < request.world; ++r) {
    const at::Tensor noise = draws.normal("sample", r, {tokens, request.param("E")}, 0, 1);
    std::vector<at::Tensor> biases;
    for (int64_t candidate = 0; candidate < kCandidates; ++candidate) {
      biases.push_back(bias_of(request, draws, r, candidate));
    }
    losses.push_back(losses_of(logits_of(request, noise, at::stack(biases).unsqueeze(1)), request.param("K")));
  }
  return at::stack(losses, 1).cpu();
}

int64_t choose_bias(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const at::Tensor losses = losses_of_candidates(request, draws);
  const at::Tensor differ = losses.amax(1) >= kSpread * losses.amin(1);
  if (!differ.any().item<bool>()) {
    throw std::runtime_error("problem 24: no logits whose losses differ between ranks; needs K < E");
  }
  const at::Tensor merit = losses.sum(1) * (request.draw % 2 == 0 ? -1 : 1);
  return merit.masked_fill(differ.logical_not(), -std::numeric_limits<double>::infinity()).argmax().item<int64_t>();
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t tokens = request.param("M"), experts = request.param("E"), sampled = std::min(tokens, kSample);
  const int64_t candidate = choose_bias(request, draws);
  const at::Tensor noise = at::cat({draws.normal("sample", request.rank, {sampled, experts}, 0, 1),
                                    draws.normal("gate_logits", request.rank, {tokens - sampled, experts}, 0, 1)});
  out["gate_logits"] = logits_of(request, noise, bias_of(request, draws, request.rank, candidate));
}
PKB_INPUTS(draw)
