// SPDX-License-Identifier: Apache-2.0
//
// "Ladder" logits. A token's K + 4 largest values, at random places, are 12 - (5/K) s j + u, s uniform in [0.85, 1] and
// u in +-0.2 * 5/K; the others are normal, at most 3. A token is drawn again until its filter is decided with a margin:
// no cumulative sum lies near 1 - top_p. One token in 8 has two equal values at the top_k threshold. The target is kept
// for 3 tokens of 4, else filtered out. Everything is the same on all ranks; a rank holds its columns.
#pragma once

#include <pkb/inputs.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace pkb::ladder {

inline constexpr int64_t kTokensAtOnce = 64;  // bounds the memory; part of the sequences' names, so it must not change
inline constexpr int64_t kAttempts = 200;
inline constexpr int64_t kLeastTopKForTies = 4;  // below, two equal values at the threshold weigh more than top_p drops
inline constexpr double kMargin = 5e-3;
inline constexpr double kTop = 12;
inline constexpr double kLeastSlope = 0.85;  // with one slope for all tokens, no token of K = 20 has a margin

/// What the catalogue asks for in this case; 0 and 1: no filter of that kind.
struct Filter {
  int64_t top_k = 0;
  double top_p = 1;
  bool none() const { return top_k <= 0 && top_p >= 1; }
};

inline Filter filter_of(const DrawRequest& request) {
  Filter filter;
  const auto top_k = request.scalars.find("top_k"), top_p = request.scalars.find("top_p");
  if (top_k != request.scalars.end() && std::holds_alternative<int64_t>(top_k->second)) {
    filter.top_k = std::get<int64_t>(top_k->second);
  }
  if (top_p != request.scalars.end() && std::holds_alternative<double>(top_p->second)) {
    filter.top_p = std::get<double>(top_p->second);
  }
  return filter;
}

/// Whole rows of some tokens.
struct Rows {
  at::Tensor values;  // [n, V] bf16
  at::Tensor ladder;  // [n, L] vocabulary indices of the largest values, falling
  at::Tensor kept;    // [n] how many of them survive the filter; the kept ones come first
};

class RowMaker {
 public:
  RowMaker(const DrawRequest& request, const Draws& draws, const at::Tensor& tied)
      : draws_(draws),
        filter_(filter_of(request)),
        tied_(tied),
        vocabulary_(request.param("V")),
        k_(request.param("K")),
        length_(std::min(k_ + 4, vocabulary_)),
        step_(5.0 / static_cast<double>(k_)),
        indices_(at::TensorOptions().dtype(at::kLong).device(request.device)) {}

  const Filter& filter() const { return filter_; }

  /// Tokens first .. first + n - 1.
  Rows make(int64_t first, int64_t n) const {
    auto [rows, done] = attempt(first, n, 0);
    for (int64_t number = 1; !done.all().item<bool>(); ++number) {
      if (number == kAttempts) {
        throw std::runtime_error(
            "no logits whose filter is decided with a margin; without top_k, top_p needs a small V");
      }
      const auto [fresh, accepted] = attempt(first, n, number);
      const at::Tensor keep_old = done.unsqueeze(-1);
      rows.values = at::where(keep_old, rows.values, fresh.values);
      rows.ladder = at::where(keep_old, rows.ladder, fresh.ladder);
      rows.kept = at::where(done, rows.kept, fresh.kept);
      done.logical_or_(accepted);
    }
    return rows;
  }

 private:
  /// Rows, and which of them are accepted.
  std::pair<Rows, at::Tensor> attempt(int64_t first, int64_t n, int64_t number) const {
    const Draws& draws = draws_.attempt(number);
    const std::string part = " of tokens from " + std::to_string(first);
    Rows rows;
    // The places of the smallest of V random keys; the index makes every key unique.
    const at::Tensor keys =
        draws.integers("places" + part, -1, {n, vocabulary_}, 0, std::numeric_limits<int32_t>::max())
            .mul_(vocabulary_)
            .add_(at::arange(vocabulary_, indices_));
    rows.ladder = std::get<0>(at::topk(keys, length_, -1, /*largest=*/false)).remainder(vocabulary_);

    const double reach = 0.2 * step_;
    const at::Tensor slope = draws.uniform("slope" + part, -1, {n, 1}, kLeastSlope, 1).to(at::kDouble).mul_(-step_);
    const at::Tensor steps = at::arange(length_, indices_).to(at::kDouble).mul(slope).add_(kTop);
    at::Tensor ladder_values =
        draws.uniform("ladder" + part, -1, {n, length_}, -reach, reach).to(at::kDouble).add_(steps).to(at::kBFloat16);
    const at::Tensor tied = tied_.narrow(0, first, n);
    if (has_ties()) {
      ladder_values.select(1, k_).copy_(at::where(tied, ladder_values.select(1, k_ - 1), ladder_values.select(1, k_)));
    }
    rows.values = draws.normal("tail" + part, -1, {n, vocabulary_}, 0, 1).clamp_max_(3).to(at::kBFloat16);
    const at::Tensor tail = rows.values.scatter(1, rows.ladder, -std::numeric_limits<double>::infinity());
    rows.values.scatter_(1, rows.ladder, ladder_values);
    const at::Tensor accepted = apply_filter(ladder_values.to(at::kDouble), tail, tied, rows.kept);
    return {rows, accepted};
  }

  bool has_ties() const { return filter_.top_k > 0 && k_ >= kLeastTopKForTies && k_ < length_; }

  /// Sets how many are kept, in fp64; returns which tokens leave no doubt about it.
  at::Tensor apply_filter(const at::Tensor& ladder, const at::Tensor& tail, const at::Tensor& tied,
                          at::Tensor& kept) const {
    at::Tensor falls = ladder.diff(1, 1) < 0;
    if (has_ties()) falls.select(1, k_ - 1).logical_or_(tied);
    at::Tensor accepted = falls.all(1);

    at::Tensor alive = at::ones_like(ladder, at::kBool);
    if (filter_.top_k > 0) alive = ladder >= ladder.narrow(1, std::min(filter_.top_k, length_) - 1, 1);
    if (filter_.top_p < 1) {
      const at::Tensor weight = at::exp(ladder - kTop) * alive;
      const at::Tensor tail_weight = filter_.top_k > 0 ? at::zeros({ladder.size(0), 1}, ladder.options())
                                                       : at::exp(tail.to(at::kDouble) - kTop).sum(1, /*keepdim=*/true);
      const at::Tensor total = weight.sum(1, /*keepdim=*/true) + tail_weight;
      // From the small end: the tail, then the ladder upwards.
      const at::Tensor cumulative = (weight.flip(1).cumsum(1).flip(1) + tail_weight) / total;
      const double cut = 1 - filter_.top_p;
      const at::Tensor clear = at::logical_or((cumulative - cut).abs() >= kMargin, alive.logical_not()).all(1);
      const at::Tensor tail_clear = at::logical_or(tail_weight == 0, tail_weight / total <= cut - kMargin).squeeze(1);
      alive = at::logical_and(alive, cumulative > cut);
      alive.select(1, 0).fill_(true);
      accepted = accepted.logical_and(clear).logical_and(tail_clear);
      if (has_ties()) accepted = accepted.logical_and(at::logical_and(tied, alive.select(1, k_ - 1)).logical_not());
    }
    kept = alive.sum(1);
    return accepted;
  }

  const Draws& draws_;
  Filter filter_;
  at::Tensor tied_;  // [tokens] bool
  int64_t vocabulary_, k_, length_;
  double step_;
  at::TensorOptions indices_;
};

/// floor(u * count) for u in [0, 1), at most count - 1.
inline at::Tensor pick(const at::Tensor& u, const at::Tensor& count) {
  return at::minimum((u.to(at::kDouble) * count).floor().to(at::kLong), count - 1);
}

/// Targets of tokens first .. first + n - 1. A filtered one is the nearest kind (further down the ladder) or any other
/// word.
inline at::Tensor choose_targets(const Draws& draws, const Rows& rows, const at::Tensor& filtered, int64_t first) {
  const int64_t n = rows.ladder.size(0), length = rows.ladder.size(1), vocabulary = rows.values.size(1);
  const std::string part = " of tokens from " + std::to_string(first);
  const at::Tensor u = draws.uniform("target" + part, -1, {n}, 0, 1);
  const auto on_ladder = [&](const at::Tensor& place) { return rows.ladder.gather(1, place.unsqueeze(1)).squeeze(1); };

  const at::Tensor kept = on_ladder(pick(u, rows.kept));
  const at::Tensor below = at::clamp_max(rows.kept + pick(u, at::clamp_min(length - rows.kept, 1)), length - 1);
  const at::Tensor near = on_ladder(below);
  const at::Tensor any = draws.integers("word" + part, -1, {n}, 0, vocabulary - 1);
  const at::Tensor survives = at::arange(length, any.options()).unsqueeze(0) < rows.kept.unsqueeze(1);
  const at::Tensor any_is_kept = at::logical_and(rows.ladder == any.unsqueeze(1), survives).any(1);
  const at::Tensor is_far = draws.uniform("far" + part, -1, {n}, 0, 1) < 0.5;
  const at::Tensor removed = at::where(at::logical_and(is_far, any_is_kept.logical_not()), any, near);
  return at::where(filtered, removed, kept);
}

/// Fills `logits` [B, S, V/W] and `target` [B, S].
inline void draw_ladder(const DrawRequest& request, const Draws& draws, DrawnInputs& out) {
  const int64_t batch = request.param("B"), length = request.param("S"), vocabulary = request.param("V");
  const int64_t tokens = batch * length, width = vocabulary / request.world;
  const RowMaker maker(request, draws, draws.permutation("tied", -1, tokens).remainder(8) == 0);
  const at::Tensor filtered = draws.permutation("filtered", -1, tokens).remainder(4) == 0;

  const auto options = at::TensorOptions().device(request.device);
  at::Tensor logits = at::empty({tokens, width}, options.dtype(at::kBFloat16));
  at::Tensor target = draws.integers("target", -1, {tokens}, 0, vocabulary - 1);
  for (int64_t first = 0; first < tokens; first += kTokensAtOnce) {
    const int64_t n = std::min(kTokensAtOnce, tokens - first);
    const Rows rows = maker.make(first, n);
    logits.narrow(0, first, n).copy_(rows.values.narrow(1, request.rank * width, width));
    if (maker.filter().none()) continue;
    target.narrow(0, first, n).copy_(choose_targets(draws, rows, filtered.narrow(0, first, n), first));
  }
  out["logits"] = logits.view({batch, length, width});
  out["target"] = target.view({batch, length});
}

}  // namespace pkb::ladder
