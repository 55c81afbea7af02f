// SPDX-License-Identifier: Apache-2.0
//
// Uneven counts, the same in every draw; ids uniform, the first and the last feature row among them.
#include "gnn/rotated_slots.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t features = 3 * request.param("M") / 4;
  const pkb::SlotCounts counts = pkb::feature_counts(request);
  const int64_t rows = counts.rows_sent();
  at::Tensor ids = draws.integers("seed_inverse_ids", request.rank, {rows}, 0, features - 1);
  const at::Tensor places = draws.permutation("places", request.rank, rows);
  if (rows >= 2) {
    ids.index_fill_(0, places.narrow(0, 0, 1), 0);
    ids.index_fill_(0, places.narrow(0, 1, 1), features - 1);
  }
  out["seed_inverse_ids"] = ids;
  out["counts_sent"] = counts.received;
  out["counts_received"] = counts.sent;
}
PKB_INPUTS(draw)
