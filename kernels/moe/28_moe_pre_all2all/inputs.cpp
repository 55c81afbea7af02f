// SPDX-License-Identifier: Apache-2.0
//
// Masks of skewed choices, and the counts that follow from those of all ranks. The cases leave an expert, a pair of
// ranks or a rank without rows, or all rows to one rank.
#include "moe/routing.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const pkb::DispatchRouting routing(request, draws);
  const pkb::DispatchCounts counts = pkb::dispatch_counts(routing.all_counts(), request.rank);
  out["expert_mask"] = pkb::mask_of(routing.chosen_by(request.rank), routing.experts());
  out["input_splits"] = counts.sent;
  out["output_splits"] = counts.received;
  out["num_global_tokens_per_local_expert"] = counts.by_expert;
}
PKB_INPUTS(draw)
