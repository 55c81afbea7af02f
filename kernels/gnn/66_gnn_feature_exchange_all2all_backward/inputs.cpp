// SPDX-License-Identifier: Apache-2.0
//
// The counts of problem 65, the same in every draw. Half of the ids are uniform over M/2 rows, half floor(M/2 * u^4):
// some rows are hot, some are named by nobody.
#include "gnn/rotated_slots.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t seeds = request.param("M") / 2;
  const pkb::SlotCounts counts = pkb::feature_counts(request);
  const int64_t rows = counts.rows_sent();
  const auto uniform = [&](const char* stream) { return draws.uniform(stream, request.rank, {rows}, 0, 1); };
  const at::Tensor even = draws.integers("seed_inverse_ids", request.rank, {rows}, 0, seeds - 1);
  const at::Tensor hot =
      uniform("hot").to(at::kDouble).pow_(4).mul_(seeds).floor_().to(at::kLong).clamp_max_(seeds - 1);
  out["seed_inverse_ids"] = at::where(uniform("is hot") < 0.5, hot, even);
  out["counts_sent"] = counts.received;
  out["counts_received"] = counts.sent;
}
PKB_INPUTS(draw)
