// SPDX-License-Identifier: Apache-2.0
//
// What is below the top_k-th largest value goes, then the smallest values that together weigh at most 1 - top_p.
#pragma once

#include <pkb/reference.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace pkb {

inline constexpr double kFilteredOut = -std::numeric_limits<double>::infinity();

/// Of each row, [n, 1]: the smallest value that is kept (undefined: all are), and the logarithm of the sum of e^x over
/// what is kept.
struct Kept {
  at::Tensor least, normaliser;
};

/// Scalars that may be absent or null: no filter of that kind.
struct TopKTopP {
  int64_t top_k = 0;
  double top_p = 1;

  explicit TopKTopP(const Inputs& in) {
    if (in.has_scalar("top_k") && !in.is_null("top_k")) top_k = in.integer("top_k");
    if (in.has_scalar("top_p") && !in.is_null("top_p")) top_p = in.real("top_p");
  }

  /// By definition: x [n, V] in vocabulary order, changed in place. Equal values sort by vocabulary index; the largest
  /// always stays.
  at::Tensor filter(at::Tensor x) const {
    const int64_t vocabulary = x.size(-1), k = std::min(top_k, vocabulary);
    if (top_p >= 1) {
      if (k <= 0) return x;
      const at::Tensor threshold = std::get<0>(at::topk(x, k)).narrow(-1, k - 1, 1);
      return x.masked_fill_(x < threshold, kFilteredOut);
    }
    auto [sorted, order] = at::sort(x, /*stable=*/true, /*dim=*/-1, /*descending=*/false);
    if (k > 0) sorted.masked_fill_(sorted < sorted.narrow(-1, vocabulary - k, 1), kFilteredOut);
    at::Tensor drop = at::cumsum(at::softmax(sorted, -1), -1) <= 1 - top_p;
    drop.select(-1, -1).fill_(false);
    sorted.masked_fill_(drop, kFilteredOut);
    return x.scatter_(-1, order, sorted);
  }

  /// The same without the filtered rows: of the largest values alone, in blocks [W, n, V/W]. Where top_p cuts between
  /// equal values, all of them are kept.
  Kept kept(const at::Tensor& blocks) const {
    if (top_k <= 0 && top_p >= 1) return {{}, blocks.to(at::kFloat).logsumexp(at::IntArrayRef{0, 2}).unsqueeze(-1)};
    const at::Tensor largest = top_k > 0 ? top_values(blocks) : sorted_rows(blocks), first = largest.narrow(1, 0, 1);
    const at::Tensor weight = (largest.to(at::kFloat) - first).exp_();
    at::Tensor sum = weight.sum(1, /*keepdim=*/true), least = largest.narrow(1, largest.size(1) - 1, 1), ties;
    if (top_k > 0) {  // all that equal the k-th value stay
      const at::Tensor more =
          (blocks == least).sum(at::IntArrayRef{0, 2}).unsqueeze(-1) - (largest == least).sum(1, /*keepdim=*/true);
      ties = more * weight.narrow(1, weight.size(1) - 1, 1);
      sum += ties;
    }
    if (top_p < 1) {
      const at::Tensor stays = weight.cumsum(1).sub_(weight) < sum * top_p;
      least = largest.gather(1, stays.sum(1, /*keepdim=*/true) - 1);
      sum = (weight * stays).sum(1, /*keepdim=*/true);
      if (top_k > 0) sum += ties * stays.narrow(1, stays.size(1) - 1, 1);
    }
    return {least, sum.log_().add_(first)};
  }

 private:
  static at::Tensor whole_rows(const at::Tensor& blocks) { return blocks.transpose(0, 1).flatten(1); }

  static at::Tensor sorted_rows(const at::Tensor& blocks) {
    return std::get<0>(whole_rows(blocks).sort(-1, /*descending=*/true));
  }

  /// [n, min(top_k, V)], falling.
  at::Tensor top_values(const at::Tensor& blocks) const {
    const int64_t width = blocks.size(2), k = std::min(top_k, blocks.size(0) * width);
    const at::Tensor of_block = std::get<0>(at::topk(blocks, std::min(k, width)));
    return std::get<0>(at::topk(whole_rows(of_block), k));
  }
};

/// Entry target_i of row i: what indexes blocks [W, n, V/W].
inline c10::List<std::optional<at::Tensor>> places(const at::Tensor& target, const at::Tensor& blocks) {
  const int64_t width = blocks.size(2);
  return {target.floor_divide(width), at::arange(target.size(0), target.options()), target.remainder(width)};
}

/// Of the targets [n], -inf where they are filtered out.
inline at::Tensor log_prob(const at::Tensor& blocks, const at::Tensor& target, const TopKTopP& filter) {
  const auto [least, normaliser] = filter.kept(blocks);
  const at::Tensor logit = blocks.index(places(target, blocks)), result = logit - normaliser.squeeze(-1);
  return least.defined() ? result.masked_fill_(logit < least.squeeze(-1), kFilteredOut) : result;
}

/// Flat tokens of logits [B, S, V/W] in chunks of B * chunk_size; within a chunk, rank r owns an equal run of tokens.
struct TokenChunk {
  int64_t first, tokens, own_first, own;  ///< own_first counts from the first token of all
};

inline TokenChunk chunk_of(int64_t first, int64_t tokens, const Comm& comm) {
  const int64_t own = tokens / comm.size();
  return {first, tokens, first + comm.rank() * own, own};
}

inline std::vector<TokenChunk> token_chunks(const Inputs& in, const Comm& comm) {
  const at::Tensor& logits = in["logits"];
  const int64_t all = logits.size(0) * logits.size(1);
  const int64_t step = logits.size(0) * std::max<int64_t>(1, in.integer("chunk_size"));
  std::vector<TokenChunk> chunks;
  for (int64_t first = 0; first < all; first += step) {
    chunks.push_back(chunk_of(first, std::min(step, all - first), comm));
  }
  return chunks;
}

/// The rows of the own tokens of a chunk, [W, own, V/W]; logits [tokens of all, V/W].
struct ArrivingRows {
  at::Tensor blocks;
  std::unique_ptr<Work> work;
};

inline ArrivingRows start_own_rows(const at::Tensor& logits, const TokenChunk& chunk, Comm& comm) {
  at::Tensor blocks = at::empty({chunk.tokens, logits.size(-1)}, logits.options());
  auto work = comm.start_all_to_all_single(blocks, logits.narrow(0, chunk.first, chunk.tokens));
  return {blocks.view({comm.size(), chunk.own, -1}), std::move(work)};
}

/// Blocks [W, own, V/W] as rows [own, V] fp32.
inline at::Tensor float_rows(const at::Tensor& blocks) {
  return blocks.transpose(0, 1)
      .to(at::kFloat, /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::Contiguous)
      .flatten(1);
}

/// log_prob by definition.
inline at::Tensor exact_log_prob(const at::Tensor& blocks, const at::Tensor& target, const TopKTopP& filter) {
  const at::Tensor log_softmax = at::log_softmax(filter.filter(float_rows(blocks)), -1);
  return log_softmax.gather(-1, target.unsqueeze(-1)).squeeze(-1);
}

}  // namespace pkb
