// SPDX-License-Identifier: Apache-2.0
//
// gate_logits = normal + b_r[e],  b = 1.5 * normal: experts and ranks differ. Of 32 candidates for b, those whose
// losses differ between ranks by more than a quarter are in question; draws of even number take the one with the
// smallest loss, the others that with the largest, so that neighbouring draws differ by far more than the tolerance.
// Case `ties`: every fourth token is indifferent.
#include <pkb/inputs.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int64_t kCandidates = 32;
constexpr int64_t kSample = 1024;  // tokens that the choice looks at
constexpr double kSpread = 1.25;

at::Tensor logits_of(const pkb::DrawRequest& request, const at::Tensor& noise, const at::Tensor& bias) {
  at::Tensor logits = (noise + bias).to(at::kBFloat16);
  if (request.case_name == "ties") logits.slice(0, 0, logits.size(0), 4).zero_();
  return logits;
}

at::Tensor bias_of(const pkb::DrawRequest& request, const pkb::Draws& draws, int rank, int64_t candidate) {
  return draws.attempt(candidate).normal("bias", rank, {request.param("E")}, 0, 1.5);
}

double loss_of(const at::Tensor& logits, int64_t top_k) {
  const at::Tensor weights = at::softmax(logits.to(at::kDouble), -1);
  const at::Tensor order = std::get<1>(at::sort(weights, /*stable=*/true, /*dim=*/-1, /*descending=*/true));
  const at::Tensor chosen = order.narrow(-1, 0, top_k);
  const at::Tensor share = at::zeros_like(weights).scatter_(-1, chosen, 1).mean(0);
  return (share * weights.mean(0)).sum().item<double>() * static_cast<double>(weights.size(-1));
}

int64_t choose_bias(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t experts = request.param("E"), tokens = std::min(request.param("M"), kSample);
  std::vector<at::Tensor> noise;
  for (int r = 0; r < request.world; ++r) noise.push_back(draws.normal("sample", r, {tokens, experts}, 0, 1));

  int64_t chosen = -1;
  double best = 0;
  for (int64_t candidate = 0; candidate < kCandidates; ++candidate) {
    std::vector<double> losses;
    double sum = 0;
    for (int r = 0; r < request.world; ++r) {
      const at::Tensor bias = bias_of(request, draws, r, candidate);
      losses.push_back(loss_of(logits_of(request, noise[static_cast<std::size_t>(r)], bias), request.param("K")));
      sum += losses.back();
    }
    const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
    const double merit = request.draw % 2 == 0 ? -sum : sum;
    if (*most < kSpread * *least || (chosen >= 0 && merit <= best)) continue;
    chosen = candidate;
    best = merit;
  }
  if (chosen < 0) throw std::runtime_error("problem 24: no logits whose losses differ between ranks; needs K < E");
  return chosen;
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
