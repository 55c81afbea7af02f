// SPDX-License-Identifier: Apache-2.0
//
// Queries and samples: rows of N(0,1), normalised. On every rank some samples, at random places, are near copies of a
// query, up to three for each query of each rank: query + 0.1 * N(0,1), normalised.
// Labels: a permutation of 0 .. NT-1, so that a label names one sample.
#include <pkb/inputs.h>

#include <algorithm>
#include <vector>

namespace {

constexpr int64_t kMostCopies = 3;
constexpr double kNoise = 0.1, kLeastNorm = 1e-12;

at::Tensor normalised(const at::Tensor& rows) {
  const at::Tensor rounded = rows.to(at::kBFloat16);
  const at::Tensor norm = rounded.to(at::kFloat).norm(2, 1, /*keepdim=*/true).to(at::kBFloat16);
  return rounded / norm.clamp_min(kLeastNorm);
}

at::Tensor queries_of(const pkb::DrawRequest& request, const pkb::Draws& draws, int rank) {
  const int64_t rows = request.param("Q") - request.param("uneven") * (rank % 3);
  return normalised(draws.normal("queries", rank, {rows, request.param("D")}, 0, 1));
}

/// All ranks' queries over and over, as many as there is room for.
at::Tensor copied_queries(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t room) {
  std::vector<at::Tensor> queries;
  for (int rank = 0; rank < request.world; ++rank) queries.push_back(queries_of(request, draws, rank));
  const at::Tensor all = at::cat(queries);
  const int64_t copies = std::clamp<int64_t>(room / (2 * all.size(0)), 1, kMostCopies);
  return all.repeat({copies, 1}).slice(0, 0, room);
}

at::Tensor train_rows(const pkb::DrawRequest& request, const pkb::Draws& draws, int64_t samples) {
  const at::Tensor rows = draws.normal("train_t", request.rank, {samples, request.param("D")}, 0, 1);
  const at::Tensor copied = copied_queries(request, draws, samples);
  const at::Tensor places = draws.permutation("places", request.rank, samples).narrow(0, 0, copied.size(0));
  return normalised(rows.mul(kNoise).index_add_(0, places, copied.to(at::kFloat)));
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t all = request.param("NT"), samples = all / request.world;
  out["queries"] = queries_of(request, draws, request.rank);
  out["train_t"] = train_rows(request, draws, samples).t().contiguous();
  out["labels"] =
      draws.permutation("labels", -1, all).narrow(0, request.rank * samples, samples).unsqueeze(0).contiguous();
}
PKB_INPUTS(draw)
