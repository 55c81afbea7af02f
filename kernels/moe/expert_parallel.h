// SPDX-License-Identifier: Apache-2.0
//
// A layer of experts spread over the ranks of a group: expert e of E lives on rank floor(e / L), L = E / ranks. Tokens
// travel to the experts they choose, and what those make of them travels back.
#pragma once

#include "common/owner_exchange.h"

namespace pkb {

/// The experts of every token and their weights [T, K], which do not add up to 1.
struct Routing {
  at::Tensor weights, experts;
};

inline Routing route(const at::Tensor& hidden, const at::Tensor& gate_weight, const at::Tensor& gate_bias,
                     int64_t top_k) {
  const at::Tensor scores = at::softmax(at::linear(hidden, gate_weight, gate_bias), -1);
  const auto [weights, experts] = at::topk(scores, top_k);
  return {weights, experts};
}

/// One exchange of (token, expert) pairs. The host learns the split sizes while the first rows are gathered.
class Dispatch {
 public:
  Dispatch(const Routing& routing, int64_t experts, Comm& comm)
      : comm_(comm),
        experts_(experts),
        weights_(routing.weights),
        table_(counts_of_all(routing.experts.view(-1), experts, comm)),
        order_(at::argsort(routing.experts.view(-1), /*stable=*/true)) {}

  /// The rows that chose this rank's experts, in the order (source, local expert, token).
  at::Tensor send(const at::Tensor& hidden) {
    const int64_t top_k = weights_.size(1);
    const at::Tensor rows = hidden.index_select(0, top_k == 1 ? order_ : order_.floor_divide(top_k));
    read_splits();
    return exchange_rows(rows, splits_, comm_);
  }

  /// Applies expert l of `experts` to the rows of local expert l; `rows` and the results in the order of send(). A
  /// single one serves all local experts.
  template <typename Expert>
  at::Tensor apply(const std::vector<Expert>& experts, const at::Tensor& rows) const {
    if (experts.size() == 1) return experts.front()(rows);
    const std::size_t local = experts.size(), ranks = chunk_rows_.size() / local;
    std::vector<at::Tensor> chunks = rows.split_with_sizes(chunk_rows_), by_expert;
    std::vector<std::vector<int64_t>> sizes(local);  // of the chunks of each expert
    std::vector<int64_t> sums(local);
    for (std::size_t l = 0; l < local; ++l) {
      for (std::size_t s = 0; s < ranks; ++s) {
        by_expert.push_back(chunks[s * local + l]);
        sizes[l].push_back(chunk_rows_[s * local + l]);
        sums[l] += sizes[l].back();
      }
    }
    const std::vector<at::Tensor> own = (ranks == 1 ? rows : at::cat(by_expert)).split_with_sizes(sums);
    for (std::size_t l = 0; l < local; ++l) {
      const std::vector<at::Tensor> results = experts[l](own[l]).split_with_sizes(sizes[l]);
      for (std::size_t s = 0; s < ranks; ++s) chunks[s * local + l] = results[s];
    }
    return at::cat(chunks);
  }

  /// Results go home in the order of send(); a token's are weighted and added up [T, H].
  at::Tensor combine(const at::Tensor& results) const {
    const at::Tensor returned = exchange_rows(results, splits_.back(), comm_);
    const at::Tensor by_token = at::empty_like(returned).index_copy_(0, order_, returned);
    const int64_t top_k = weights_.size(1);
    if (top_k == 1) return by_token.mul_(weights_);
    return by_token.view({-1, top_k, by_token.size(1)}).mul_(weights_.unsqueeze(-1)).sum(1);
  }

 private:
  /// [source, expert]
  static at::Tensor counts_of_all(const at::Tensor& chosen, int64_t experts, Comm& comm) {
    const at::Tensor counts = at::zeros({experts}, chosen.options()).scatter_(0, chosen, 1, "add");
    if (comm.size() == 1) return counts;
    at::Tensor table = at::empty({comm.size(), experts}, counts.options());
    comm.sizes().all_gather_into_tensor(table, counts);
    return table;
  }

  void read_splits() {
    const std::vector<int64_t> rows = table_.list();
    const int64_t ranks = comm_.size(), local = experts_ / ranks;
    splits_ = {};
    chunk_rows_.clear();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const auto sent = rows.begin() + comm_.rank() * experts_ + rank * local;
      const auto received = rows.begin() + rank * experts_ + comm_.rank() * local;
      splits_.sent.push_back(std::accumulate(sent, sent + local, int64_t{0}));
      splits_.received.push_back(std::accumulate(received, received + local, int64_t{0}));
      chunk_rows_.insert(chunk_rows_.end(), received, received + local);
    }
  }

  Comm& comm_;
  int64_t experts_;
  at::Tensor weights_;  // [T, K]
  OnHost table_;        // rows of each source for each expert
  at::Tensor order_;    // the pairs t*K + k in the order of the experts [T*K]
  Splits splits_;
  std::vector<int64_t> chunk_rows_;  // received from each source for each local expert
};

}  // namespace pkb
