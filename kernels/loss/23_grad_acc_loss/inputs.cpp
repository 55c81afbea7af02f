// SPDX-License-Identifier: Apache-2.0
//
// Token counts 1 + floor(T*(W + i)/(2*W)), i < W, dealt to the ranks anew in each draw; loss uniform in [4, 12],
// grad_loss_sum uniform in [0.25, 1] over the sum of the counts. One rank, another in each draw, is special. Case
// `idle_rank`: it has no token and its loss is NaN; case `nan_loss`: it has tokens and its loss is NaN.
#include <pkb/inputs.h>

#include <limits>

namespace {

/// Of all ranks [W].
at::Tensor token_counts(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t special) {
  const at::Tensor place = draws.permutation("counts", -1, request.world);
  const at::Tensor counts = ((place + request.world) * request.param("T")).floor_divide_(2 * request.world).add_(1);
  if (request.case_name == "idle_rank") counts[special].zero_();
  return counts;
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t special = draws.integers("special", -1, {1}, 0, request.world - 1).item<int64_t>();
  const at::Tensor counts = token_counts(request, draws, special);
  const at::Tensor loss = draws.uniform("loss", request.rank, {}, 4, 12);
  if (request.case_name != "default" && request.rank == special) loss.fill_(std::numeric_limits<double>::quiet_NaN());
  out["loss"] = loss.to(at::kBFloat16);
  out["local_valid_tokens"] = counts[request.rank];
  out["global_valid_tokens"] = counts.sum();
  out["grad_loss_sum"] = (draws.uniform("grad_loss_sum", -1, {}, 0.25, 1) / counts.sum()).to(at::kBFloat16);
}
PKB_INPUTS(draw)
