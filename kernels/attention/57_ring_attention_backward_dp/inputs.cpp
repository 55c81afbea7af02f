// SPDX-License-Identifier: Apache-2.0
//
// q = 2*normal, k and dout normal (dout a quarter in replica 1), v = normal + a ramp from -2 to 2 along the sequence.
// out and softmax_lse are those of attention over the whole sequence of the replica (causal where the call is), so that
// what is computed is its gradient; the other ranks' k and v are drawn here too.
#include <pkb/inputs.h>

#include <cmath>
#include <limits>

#include "attention/value_ramp.h"

namespace {

class Replica {
 public:
  Replica(const pkb::DrawRequest& request, const pkb::Draws& draws)
      : draws_(draws),
        device_(request.device),
        ranks_(request.world / request.param("DP")),
        index_(request.rank % ranks_),
        first_(request.rank - index_),
        tokens_(request.param("T") / ranks_),
        shape_{request.param("B"), tokens_, request.param("H"), request.param("D")} {}

  int64_t index() const { return index_; }
  int64_t ranks() const { return ranks_; }

  at::Tensor normal(std::string_view stream, int64_t index, double sigma) const {
    return draws_.normal(stream, static_cast<int>(first_ + index), shape_, 0, sigma);
  }
  at::Tensor keys(int64_t index) const { return normal("k", index, 1).to(at::kBFloat16); }
  at::Tensor values(int64_t index) const {
    return (normal("v", index, 1) + pkb::value_ramp(tokens_, index, ranks_, device_)).to(at::kBFloat16);
  }

 private:
  const pkb::Draws& draws_;
  at::Device device_;
  int64_t ranks_, index_, first_, tokens_;
  std::vector<int64_t> shape_;
};

/// [B, S, H, D] as fp32 [B, H, S, D].
at::Tensor widened(const at::Tensor& x) {
  return x.transpose(1, 2).to(at::kFloat);
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const Replica replica(request, draws);
  const bool second = request.rank >= replica.ranks();
  const at::Tensor q = replica.normal("q", replica.index(), 2).to(at::kBFloat16);
  std::vector<at::Tensor> keys, values;
  for (int64_t index = 0; index < replica.ranks(); ++index) {
    keys.push_back(replica.keys(index));
    values.push_back(replica.values(index));
  }

  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  at::Tensor scores = at::matmul(widened(q), widened(at::cat(keys, 1)).transpose(-2, -1)).mul_(scale);
  if (std::get<bool>(request.scalars.at("causal"))) {
    const at::Tensor future = at::ones({scores.size(-2), scores.size(-1)}, scores.options().dtype(at::kBool))
                                  .triu(replica.index() * q.size(1) + 1);
    scores.masked_fill_(future, -std::numeric_limits<double>::infinity());
  }
  out["softmax_lse"] = at::logsumexp(scores, -1);
  out["out"] = at::matmul(at::softmax(scores, -1), widened(at::cat(values, 1))).transpose(1, 2).to(at::kBFloat16);
  out["q"] = q;
  out["k"] = keys[static_cast<std::size_t>(replica.index())];
  out["v"] = values[static_cast<std::size_t>(replica.index())];
  out["dout"] = replica.normal("dout", replica.index(), second ? 0.25 : 1).to(at::kBFloat16);
}
PKB_INPUTS(draw)
