// SPDX-License-Identifier: Apache-2.0
//
// psi: rows of 0 .. 2E entries, K*LAT*E in all, at random distinct columns in ascending order; values 0.05 * N(0,1).
// The same on all ranks of a latitude.
#include <pkb/inputs.h>

namespace {

/// Entries of each row: E + d and E - d in turn, in a random order.
at::Tensor row_lengths(const pkb::Draws& draws, int of, int64_t rows, int64_t mean) {
  const at::Tensor change = draws.integers("lengths", of, {rows / 2}, -mean, mean);
  const at::Tensor lengths = at::full({rows}, mean, change.options());
  lengths.narrow(0, 0, rows / 2).add_(change);
  lengths.narrow(0, rows / 2, rows / 2).sub_(change);
  return lengths.index_select(0, draws.permutation("rows", of, rows));
}

}  // namespace

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t ring = request.param("AZ"), functions = request.param("K"), latitudes = request.param("LAT");
  const int64_t most = 2 * request.param("E"), rows = functions * latitudes;
  const int64_t columns = latitudes * ring / request.world * request.param("LON"), stratum = columns / most;
  const int of = request.rank / static_cast<int>(ring) * static_cast<int>(ring);  // first rank of the latitude

  // One candidate in each of `most` strata of the columns; a row keeps a random choice of them.
  const at::Tensor candidates = draws.integers("columns", of, {rows, most}, 0, stratum - 1);
  candidates.add_(at::arange(most, candidates.options()) * stratum);
  const at::Tensor order = draws.uniform("kept", of, {rows, most}, 0, 1).argsort(/*stable=*/true, 1, false);
  const at::Tensor rank_in_row = order.argsort(/*stable=*/true, 1, false);
  const at::Tensor kept = rank_in_row < row_lengths(draws, of, rows, request.param("E")).unsqueeze(1);
  const at::Tensor row = kept.nonzero().select(1, 0);
  out["psi_indices"] =
      at::stack({row.floor_divide(latitudes), row.remainder(latitudes), candidates.masked_select(kept)});
  out["psi_values"] = draws.normal("psi_values", of, {row.size(0)}, 0, 0.05);
}
PKB_INPUTS(draw)
