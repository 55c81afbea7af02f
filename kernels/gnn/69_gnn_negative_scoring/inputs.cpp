// SPDX-License-Identifier: Apache-2.0
//
// Scores 3 * normal, where sigmoids saturate and tie. One negative in a hundred is the row's positive, one score in a
// thousand (of the positives one in 64) infinite. Drawn again: the four scores whose sigmoid lies so near to the middle
// between two bf16 that an exponential may round it either way.
#include <pkb/inputs.h>

#include <limits>
#include <string>

namespace {

constexpr double kSigma = 3;

at::Tensor is_doubtful(const at::Tensor& scores) {
  at::Tensor doubtful = at::zeros(scores.sizes(), scores.options().dtype(at::kBool));
  for (const double value : {-0.01171875, -0.00390625, 0.0078125, 0.2275390625}) doubtful.logical_or_(scores == value);
  return doubtful;
}

at::Tensor scores(const pkb::DrawRequest& request, const pkb::Draws& draws, const std::string& name,
                  at::IntArrayRef shape, double infinite) {
  const auto normal = [&](int64_t attempt) {
    return draws.attempt(attempt).normal(name, request.rank, shape, 0, kSigma).to(at::kBFloat16);
  };
  at::Tensor values = normal(0);
  for (int64_t attempt = 1; is_doubtful(values).any().item<bool>(); ++attempt) {
    values = at::where(is_doubtful(values), normal(attempt), values);
  }
  const at::Tensor u = draws.uniform(name + " infinite", request.rank, shape, 0, 1);
  values.masked_fill_(u < infinite / 2, std::numeric_limits<double>::infinity());
  return values.masked_fill_(u >= 1 - infinite / 2, -std::numeric_limits<double>::infinity());
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t more = request.param("other_rows") == 1 ? 7 * request.rank % 5 : request.rank % 3;
  const int64_t rows = request.param("M") / request.world + more, negatives = request.param("num_neg");
  const at::Tensor positive = scores(request, draws, "local_pos_scores", {rows}, 1.0 / 64);
  const at::Tensor negative = scores(request, draws, "local_neg_scores", {rows, negatives}, 1e-3);
  const at::Tensor is_tie = draws.uniform("tie", request.rank, {rows, negatives}, 0, 1) < 0.01;
  out["local_pos_scores"] = positive;
  out["local_neg_scores"] = at::where(is_tie, positive.unsqueeze(-1), negative);
}
PKB_INPUTS(draw)
