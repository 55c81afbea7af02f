// SPDX-License-Identifier: Apache-2.0
//
// K distinct experts a token, in proportion to 1/(1 + place)^1.2 with places of its own on every rank: hot experts
// differ. One expert, another in each draw, has no token anywhere, and one on a single rank only. Case `one_rank`: all
// tokens choose experts of one rank.
#include "moe/routing.h"

namespace {

constexpr double kFall = 1.2;

at::Tensor log_weight(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int64_t experts = request.param("E"), own = experts / request.world;
  const double nothing = -std::numeric_limits<double>::infinity();
  const at::Tensor place = draws.permutation("places", request.rank, experts);
  at::Tensor weight = place.to(at::kDouble).add_(1).log_().mul_(-kFall);
  const int64_t one = draws.integers("rank", -1, {1}, 0, request.world - 1).item<int64_t>();
  if (request.case_name == "one_rank") {
    weight.narrow(0, 0, one * own).fill_(nothing);
    weight.narrow(0, (one + 1) * own, experts - (one + 1) * own).fill_(nothing);
  } else if (experts - 2 >= request.param("K")) {
    const at::Tensor silent = draws.permutation("silent", -1, experts);
    weight[silent[0].item<int64_t>()].fill_(nothing);
    if (request.rank != one) weight[silent[1].item<int64_t>()].fill_(nothing);
  }
  return weight;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const at::Tensor chosen =
      pkb::choose_experts(draws, request.rank, request.param("M"), request.param("K"), log_weight(request, draws));
  out["expert_mask"] = pkb::mask_of(chosen, request.param("E"));
}
PKB_INPUTS(draw)
