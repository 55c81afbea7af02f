// SPDX-License-Identifier: Apache-2.0
//
// Inputs of problems 52 and 53. The values of a rank are normal times a factor of the rank; one in 64 each is 0, -0, or
// so small that it becomes 0. The history decides the scale on odd ranks, the values do on even ones, and rank 0's
// oldest entry must not count. Case silent_rank: values and history of one rank, another in each draw, are all zero.
#pragma once

#include <pkb/inputs.h>

namespace delayed_scaling {

inline at::Tensor values(const pkb::DrawRequest& request, const pkb::Draws& draws, const char* name, int64_t n) {
  constexpr double kFactors[] = {1, 0.6, 1.5, 0.35};
  constexpr int64_t kEvery = 64, kZero = 5, kMinusZero = 21, kTiny = 37;
  constexpr double kLargestTiny = 0x1p-19;  // below 2^-10 of the least scale, 1.5 / 448
  const int rank = request.rank;
  const double factor = kFactors[rank % 4] * (1 + 0.05 * (rank / 4));
  at::Tensor x = (draws.normal(name, rank, {n}, 0, 1) * factor).to(at::kBFloat16);
  x.slice(0, kZero, n, kEvery).fill_(0.0);
  x.slice(0, kMinusZero, n, kEvery).fill_(-0.0);
  at::Tensor tiny = x.slice(0, kTiny, n, kEvery);
  tiny.copy_(draws.uniform("tiny", rank, tiny.sizes(), -kLargestTiny, kLargestTiny));
  return x;
}

inline at::Tensor history(const pkb::DrawRequest& request, const pkb::Draws& draws) {
  const int rank = request.rank;
  const int64_t length = request.param("L");
  at::Tensor h = draws.uniform("amax_history", rank, {length}, 0.1, 1.5);
  if (rank == 0) h[0].fill_(16);
  if (rank % 2 == 1) {
    const int64_t slot = draws.integers("slot", rank, {1}, 1, length - 1).item<int64_t>();
    h.narrow(0, slot, 1).copy_(draws.uniform("peak", rank, {1}, 8, 12));
  }
  return h.to(at::kBFloat16);
}

inline void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, const char* name, int64_t n,
                 pkb::DrawnInputs& out) {
  at::Tensor x = values(request, draws, name, n), h = history(request, draws);
  if (request.case_name == "silent_rank" && request.rank == request.draw % request.world) {
    x.zero_();
    h.zero_();
  }
  out[name] = x;
  out["amax_history"] = h;
}

}  // namespace delayed_scaling
