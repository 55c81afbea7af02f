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

/// One exchange of (token, expert) pairs. The host learns the split sizes when it is made.
class Dispatch {
 public:
  Dispatch(const Routing& routing, int64_t experts, Comm& comm)
      : comm_(comm), local_experts_(experts / comm.size()), tokens_(routing.experts.size(0)) {
    const ByOwner pairs = group_by_owner(routing.experts.view(-1), experts);
    token_ = pairs.order.floor_divide(routing.experts.size(1));
    weight_ = routing.weights.view(-1).index_select(0, pairs.order).unsqueeze(-1);
    read_splits(pairs.counts);
  }

  /// The rows that chose this rank's experts, in the order (source, local expert, token).
  at::Tensor send(const at::Tensor& hidden) const {
    return exchange_rows(hidden.index_select(0, token_), splits_, comm_);
  }

  /// result = expert(rows, l) for the rows of each local expert l; `rows` and the results in the order of send().
  template <typename Expert>
  at::Tensor for_each_expert(const at::Tensor& rows, const Expert& expert) const {
    std::vector<at::Tensor> chunks = rows.split_with_sizes(chunk_rows_);
    for (int64_t l = 0; l < local_experts_; ++l) {
      std::vector<at::Tensor> own;
      std::vector<int64_t> sizes;
      for (std::size_t i = static_cast<std::size_t>(l); i < chunks.size();
           i += static_cast<std::size_t>(local_experts_)) {
        own.push_back(chunks[i]);
        sizes.push_back(chunk_rows_[i]);
      }
      const std::vector<at::Tensor> results = expert(at::cat(own), l).split_with_sizes(sizes);
      for (std::size_t s = 0; s < results.size(); ++s) {
        chunks[s * static_cast<std::size_t>(local_experts_) + static_cast<std::size_t>(l)] = results[s];
      }
    }
    return at::cat(chunks);
  }

  /// Results go home in the order of send(); a token's are weighted and added up [T, H].
  at::Tensor combine(const at::Tensor& results) const {
    const at::Tensor returned = exchange_rows(results, splits_.back(), comm_).mul_(weight_);
    return at::zeros({tokens_, returned.size(1)}, returned.options()).index_add_(0, token_, returned);
  }

 private:
  void read_splits(const at::Tensor& counts) {
    const int64_t ranks = comm_.size();
    at::Tensor all = at::empty({ranks, counts.numel()}, counts.options());
    comm_.sizes().all_gather_into_tensor(all, counts);
    const at::Tensor rows = all.to(at::kCPU).view({ranks, ranks, local_experts_});  // [source, owner, its expert]
    const at::Tensor by_owner = rows.sum(2);
    splits_ = {host_list(by_owner.select(0, comm_.rank())), host_list(by_owner.select(1, comm_.rank()))};
    chunk_rows_ = host_list(rows.select(1, comm_.rank()));
  }

  Comm& comm_;
  int64_t local_experts_, tokens_;
  at::Tensor token_, weight_;  // of each pair, in the order of the experts [T*K], [T*K, 1]
  Splits splits_;
  std::vector<int64_t> chunk_rows_;  // received from each source for each local expert
};

}  // namespace pkb
