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

  /// Tokens first .. first + n - 1. Only the ladder's values are drawn again.
  Rows make(int64_t first, int64_t n) const {
    const std::string part = " of tokens from " + std::to_string(first);
    const at::Tensor places = ladder_places(n, part), tied = tied_.narrow(0, first, n);
    at::Tensor values = draws_.normal("tail" + part, -1, {n, vocabulary_}, 0, 1).clamp_max_(3).to(at::kBFloat16);
    const at::Tensor tail_weight = weight_of_tail(values, places);
    at::Tensor ladder = ladder_values(draws_, tied, part);
    Verdict verdict = apply_filter(ladder.to(at::kDouble), tail_weight, tied);
    for (int64_t number = 1; !verdict.is_clear.all().item<bool>(); ++number) {
      if (number == kAttempts) {
        throw std::runtime_error(
            "no logits whose filter is decided with a margin; without top_k, top_p needs a small V");
      }
      const at::Tensor fresh = ladder_values(draws_.attempt(number), tied, part);
      const Verdict other = apply_filter(fresh.to(at::kDouble), tail_weight, tied);
      ladder = at::where(verdict.is_clear.unsqueeze(-1), ladder, fresh);
      verdict.kept = at::where(verdict.is_clear, verdict.kept, other.kept);
      verdict.is_clear.logical_or_(other.is_clear);
    }
    return {values.scatter_(1, places, ladder), places, verdict.kept};
  }

 private:
  /// By token: how many values survive the filter, and whether that is beyond doubt.
  struct Verdict {
    at::Tensor kept, is_clear;
  };

  /// The places of the smallest of V random keys; the index makes every key unique.
  at::Tensor ladder_places(int64_t n, const std::string& part) const {
    const at::Tensor keys =
        draws_.integers("places" + part, -1, {n, vocabulary_}, 0, std::numeric_limits<int32_t>::max())
            .mul_(vocabulary_)
            .add_(at::arange(vocabulary_, indices_));
    return std::get<0>(at::topk(keys, length_, -1, /*largest=*/false)).remainder(vocabulary_);
  }

  at::Tensor ladder_values(const Draws& draws, const at::Tensor& tied, const std::string& part) const {
    const int64_t n = tied.size(0);
    const double reach = 0.2 * step_;
    const at::Tensor slope = draws.uniform("slope" + part, -1, {n, 1}, kLeastSlope, 1).to(at::kDouble).mul_(-step_);
    const at::Tensor steps = at::arange(length_, indices_).to(at::kDouble).mul(slope).add_(kTop);
    at::Tensor values =
        draws.uniform("ladder" + part, -1, {n, length_}, -reach, reach).to(at::kDouble).add_(steps).to(at::kBFloat16);
    if (has_ties()) values.select(1, k_).copy_(at::where(tied, values.select(1, k_ - 1), values.select(1, k_)));
    return values;
  }

  /// Of the values beside the ladder, relative to exp(kTop); nothing where top_k removes them.
  at::Tensor weight_of_tail(const at::Tensor& values, const at::Tensor& places) const {
    if (filter_.top_k > 0 || filter_.top_p >= 1) return at::zeros({values.size(0), 1}, indices_.dtype(at::kDouble));
    const at::Tensor tail = values.scatter(1, places, -std::numeric_limits<double>::infinity());
    return at::exp(tail.to(at::kDouble) - kTop).sum(1, /*keepdim=*/true);
  }

  bool has_ties() const { return filter_.top_k > 0 && k_ >= kLeastTopKForTies && k_ < length_; }

  /// In fp64.
  Verdict apply_filter(const at::Tensor& ladder, const at::Tensor& tail_weight, const at::Tensor& tied) const {
    at::Tensor falls = ladder.diff(1, 1) < 0;
    if (has_ties()) falls.select(1, k_ - 1).logical_or_(tied);
    at::Tensor accepted = falls.all(1);

    at::Tensor alive = at::ones_like(ladder, at::kBool);
    if (filter_.top_k > 0) alive = ladder >= ladder.narrow(1, std::min(filter_.top_k, length_) - 1, 1);
    if (filter_.top_p < 1) {
      const at::Tensor weight = at::exp(ladder - kTop) * alive;
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
    return {alive.sum(1), accepted};
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
