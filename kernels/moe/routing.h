// SPDX-License-Identifier: Apache-2.0
//
// Which experts tokens choose, and what follows from it: counts, masks, maps. For inputs.cpp: every rank can make every
// other's. Expert e of E lives on rank floor(e / (E/W)).
#pragma once

#include <pkb/inputs.h>

#include <limits>
#include <string>
#include <vector>

namespace pkb {

/// K distinct experts a token [T, K], drawn without replacement with the weights exp(log_weight) [E], in the order in
/// which they were drawn. An expert of weight 0 (-inf) is not chosen as long as K others are left.
inline at::Tensor choose_experts(const Draws& draws, int rank, int64_t tokens, int64_t k,
                                 const at::Tensor& log_weight) {
  const at::Tensor u = draws.uniform("gumbel", rank, {tokens, log_weight.size(0)}, 0, 1).to(at::kDouble);
  const at::Tensor gumbel = u.log_().neg_().log_().neg_();
  return std::get<1>(at::topk(gumbel + log_weight, k));
}

/// expert_mask[e, k, t] = 1 where expert e is choice k of token t: a view of [T, K, E].
inline at::Tensor mask_of(const at::Tensor& chosen, int64_t experts) {
  const at::Tensor mask = at::zeros({chosen.size(0), chosen.size(1), experts}, chosen.options().dtype(at::kFloat));
  return mask.scatter_(2, chosen.unsqueeze(-1), 1).permute({2, 1, 0});
}

/// How many (token, choice) pairs each expert has [E].
inline at::Tensor counts_of(const at::Tensor& chosen, int64_t experts) {
  return at::bincount(chosen.reshape(-1), {}, experts);
}

/// Popularity of the problems 28 and 29: it falls with 1 + ((5e + 3) mod E). The cases take experts out, others in
/// every draw.
class DispatchRouting {
 public:
  DispatchRouting(const DrawRequest& request, const Draws& draws)
      : request_(request), draws_(draws), experts_(request.param("E")), own_(experts_ / request.world) {
    const int ranks = request.world;
    one_ = pick("first", ranks);
    other_ = (one_ + 1 + pick("second", ranks - 1)) % ranks;
    silent_expert_ = pick("silent expert", experts_);
  }

  /// [T, K]
  at::Tensor chosen_by(int rank) const {
    return choose_experts(draws_, rank, request_.param("T"), request_.param("K"), log_weight(rank));
  }
  /// Row s: the counts of rank s [W, E].
  at::Tensor all_counts() const {
    std::vector<at::Tensor> rows;
    for (int s = 0; s < request_.world; ++s) rows.push_back(counts_of(chosen_by(s), experts_));
    return at::stack(rows);
  }
  int64_t experts() const { return experts_; }

 private:
  int64_t pick(const char* stream, int64_t n) const {
    return draws_.integers(stream, -1, {1}, 0, n - 1).item<int64_t>();
  }

  at::Tensor log_weight(int rank) const {
    const at::Tensor e = at::arange(experts_, at::TensorOptions().dtype(at::kDouble).device(request_.device));
    at::Tensor weight = (e * 5 + 3).remainder(static_cast<double>(experts_)).add_(1).log_().mul_(-0.5);
    const std::string& name = request_.case_name;
    if (name == "silent_expert") silence(weight, silent_expert_, 1);
    if (name == "silent_pair" && rank == one_) silence(weight, other_ * own_, own_);
    if (name == "idle_rank") silence(weight, other_ * own_, own_);
    if (name == "one_rank") {
      silence(weight, 0, other_ * own_);
      silence(weight, (other_ + 1) * own_, experts_ - (other_ + 1) * own_);
    }
    return weight;
  }
  static void silence(at::Tensor& weight, int64_t first, int64_t count) {
    weight.narrow(0, first, count).fill_(-std::numeric_limits<double>::infinity());
  }

  const DrawRequest& request_;
  const Draws& draws_;
  int64_t experts_, own_;  // of all ranks, of one
  int64_t one_ = 0, other_ = 0, silent_expert_ = 0;
};

/// The three count arguments of rank r: rows to and from each rank [W] on the host, and n[s, l], the rows of rank s for
/// local expert l [W, E/W].
struct DispatchCounts {
  at::Tensor sent, received, by_expert;
};

inline DispatchCounts dispatch_counts(const at::Tensor& all_counts, int rank) {
  const int64_t ranks = all_counts.size(0);
  const at::Tensor by_owner = all_counts.view({ranks, ranks, -1});  // [source, owner, its expert]
  const at::Tensor rows = by_owner.sum(2).to(at::kCPU);
  return {rows.select(0, rank), rows.select(1, rank), by_owner.select(1, rank)};
}

}  // namespace pkb
