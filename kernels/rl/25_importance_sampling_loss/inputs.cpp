// SPDX-License-Identifier: Apache-2.0
//
// weight = s/sqrt(N) * normal, the same on all ranks; labels uniform, of which 5 % on the first rank to 15 % on the
// last are -100; old_logprobs = normal - (ln V + c), advantages = normal + (1 + r)/2. s in [0.6, 1.2] moves the
// entropy, c in [0, 1] the ratios; both are new in each draw. Case `clamped`: four tokens of every rank have
// old_logprobs of -60 or 60, and advantages of one sign so that they do not cancel. Case `silent_rank`: one rank,
// another in each draw, has no valid token.
#include <pkb/inputs.h>

#include <algorithm>
#include <cmath>

namespace {

constexpr int64_t kIgnored = -100, kClampedTokens = 4;

double uniform(const pkb::Draws& draws, const char* stream, double low, double high) {
  return draws.uniform(stream, -1, {1}, low, high).item<double>();
}

at::Tensor is_ignored(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t tokens) {
  const double share = 0.05 + 0.1 * request.rank / std::max(request.world - 1, 1);
  at::Tensor ignored = draws.uniform("ignored", request.rank, {tokens}, 0, 1) < share;
  if (request.case_name == "silent_rank") {
    const int64_t silent = draws.integers("silent", -1, {1}, 0, request.world - 1).item<int64_t>();
    if (request.rank == silent) ignored.fill_(true);
  }
  return ignored;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t tokens = request.param("M"), width = request.param("N"), vocabulary = request.param("V");
  const double sigma = uniform(draws, "s", 0.6, 1.2) / std::sqrt(static_cast<double>(width));
  const double mean = -(std::log(static_cast<double>(vocabulary)) + uniform(draws, "c", 0, 1));
  at::Tensor ignored = is_ignored(request, draws, tokens);
  at::Tensor old_logprobs = draws.normal("old_logprobs", request.rank, {tokens}, mean, 1);
  at::Tensor advantages = draws.normal("advantages", request.rank, {tokens}, 0.5 * (1 + request.rank), 1);
  if (request.case_name == "clamped") {
    const at::Tensor chosen =
        draws.permutation("clamped", request.rank, tokens).narrow(0, 0, std::min(tokens, kClampedTokens));
    old_logprobs.index_fill_(0, chosen, -60).index_fill_(0, chosen.slice(0, 0, chosen.size(0), 2), 60);
    ignored.index_fill_(0, chosen, false);
    advantages.index_copy_(0, chosen, advantages.index_select(0, chosen).abs_().add_(0.5));
  }
  out["weight"] = draws.normal("weight", -1, {vocabulary, width}, 0, sigma).to(at::kBFloat16);
  out["labels"] = draws.integers("labels", request.rank, {tokens}, 0, vocabulary - 1).masked_fill_(ignored, kIgnored);
  out["old_logprobs"] = old_logprobs.to(at::kBFloat16);
  out["advantages"] = advantages.to(at::kBFloat16);
}
PKB_INPUTS(draw)
