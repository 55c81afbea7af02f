// SPDX-License-Identifier: Apache-2.0
//
// What is below the top_k-th largest value goes, then the smallest values that together weigh at most 1 - top_p.
#pragma once

#include <pkb/reference.h>

#include <algorithm>
#include <limits>

namespace pkb {

inline constexpr double kFilteredOut = -std::numeric_limits<double>::infinity();

/// Scalars that may be absent or null: no filter of that kind.
struct TopKTopP {
  int64_t top_k = 0;
  double top_p = 1;

  explicit TopKTopP(const Inputs& in) {
    if (in.has_scalar("top_k") && !in.is_null("top_k")) top_k = in.integer("top_k");
    if (in.has_scalar("top_p") && !in.is_null("top_p")) top_p = in.real("top_p");
  }

  /// x [n, V] in vocabulary order, changed in place. Equal values sort by vocabulary index; the largest always stays.
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
};

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

/// The whole rows of the own tokens of a chunk [own, V] fp32; logits [tokens of all, V/W].
inline at::Tensor own_rows(const at::Tensor& logits, const TokenChunk& chunk, Comm& comm) {
  const int64_t ranks = comm.size(), width = logits.size(-1);
  at::Tensor blocks = at::empty({chunk.tokens, width}, logits.options());
  comm.all_to_all_single(blocks, logits.narrow(0, chunk.first, chunk.tokens));
  return at::empty({chunk.own, ranks, width}, logits.options().dtype(at::kFloat))
      .copy_(blocks.view({ranks, chunk.own, width}).transpose(0, 1))
      .view({chunk.own, ranks * width});
}

}  // namespace pkb
