// SPDX-License-Identifier: Apache-2.0
//
// Router weights of order 1/sqrt(H), the same on all ranks, and tokens whose choice of experts no rounding can change.
#pragma once

#include <pkb/inputs.h>

#include <cmath>
#include <string>

namespace pkb {

/// Experts first .. first + count - 1 get no token.
struct SilentExperts {
  int64_t first = 0, count = 0;
};

/// Case `silent_expert`: one of E experts; case `idle_rank`: all of one rank. Others in each draw.
inline SilentExperts silent_in_case(const DrawRequest& request, const Draws& draws) {
  const int64_t experts = request.param("E"), own = experts / request.world;
  const auto pick = [&](int64_t n) { return draws.integers("silent", -1, {1}, 0, n - 1).item<int64_t>(); };
  if (request.case_name == "silent_expert") return {pick(experts), 1};
  if (request.case_name == "idle_rank") return {pick(request.world) * own, own};
  return {};
}

class RouterInputs {
 public:
  RouterInputs(const DrawRequest& request, const Draws& draws, double bias_sigma, SilentExperts silent = {})
      : request_(request), draws_(draws), top_k_(integer("top_k")) {
    constexpr double kSilent = -20;
    const int64_t experts = integer("num_experts"), width = request.param("H");
    const double sigma = 1 / std::sqrt(static_cast<double>(width));
    weight_ = draws.normal("gate_weight", -1, {experts, width}, 0, sigma).to(at::kBFloat16);
    bias_ = draws.normal("gate_bias", -1, {experts}, 0, bias_sigma).to(at::kBFloat16);
    bias_.narrow(0, silent.first, silent.count).fill_(kSilent);
  }

  void write(DrawnInputs& out) const {
    out["gate_weight"] = weight_;
    out["gate_bias"] = bias_;
    out["hidden_states"] = hidden_states();
  }

 private:
  int64_t integer(const char* scalar) const { return std::get<int64_t>(request_.scalars.at(scalar)); }

  at::Tensor normal_rows(int64_t attempt) const {
    const std::vector<int64_t> shape{request_.param("T"), request_.param("H")};
    return draws_.attempt(attempt).normal("hidden_states", request_.rank, shape, 0, 1).to(at::kBFloat16);
  }

  /// Normal rows, each drawn anew until its last chosen logit is 1/16 or more above the first that is not chosen.
  at::Tensor hidden_states() const {
    at::Tensor rows = normal_rows(0);
    at::Tensor doubtful = is_doubtful(rows);
    for (int64_t attempt = 1; doubtful.any().item<bool>(); ++attempt) {
      rows = at::where(doubtful.unsqueeze(-1), normal_rows(attempt), rows);
      doubtful = is_doubtful(rows);
    }
    return rows;
  }
  at::Tensor is_doubtful(const at::Tensor& rows) const {
    constexpr double kMargin = 0.0625;
    if (top_k_ == weight_.size(0)) return at::zeros({rows.size(0)}, rows.options().dtype(at::kBool));
    const at::Tensor logits = at::linear(rows.to(at::kDouble), weight_.to(at::kDouble), bias_.to(at::kDouble));
    const at::Tensor largest = std::get<0>(at::topk(logits, top_k_ + 1));
    return largest.select(1, top_k_ - 1) - largest.select(1, top_k_) < kMargin;
  }

  const DrawRequest& request_;
  const Draws& draws_;
  int64_t top_k_;
  at::Tensor weight_, bias_;
};

}  // namespace pkb
