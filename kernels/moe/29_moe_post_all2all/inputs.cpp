// SPDX-License-Identifier: Apache-2.0
//
// Skewed choices in the order in which they were drawn, weights = softmax(2 * normal), and all that follows from the
// choices of all ranks: counts, map, mapping, and how many rows this rank has to give back.
#include "moe/routing.h"

void draw(const pkb::DrawRequest& request, const pkb::Draws& draws, pkb::DrawnInputs& out) {
  const int64_t tokens = request.param("T"), k = request.param("K");
  const pkb::DispatchRouting routing(request, draws);
  const at::Tensor chosen = routing.chosen_by(request.rank);
  const pkb::DispatchCounts counts = pkb::dispatch_counts(routing.all_counts(), request.rank);
  const int64_t rows = counts.received.sum().item<int64_t>();

  const at::Tensor routing_map =
      at::zeros({routing.experts(), tokens}, chosen.options().dtype(at::kBool)).scatter_(0, chosen.t(), true);
  const at::Tensor scores = draws.normal("routing_weights", request.rank, {tokens, k}, 0, 2).to(at::kBFloat16);
  out["expert_outputs"] =
      draws.normal("expert_outputs", request.rank, {rows, request.param("H")}, 0, 1).to(at::kBFloat16);
  out["routing_weights"] = at::softmax(scores, -1);
  out["selected_experts"] = chosen;
  out["input_splits"] = counts.sent;
  out["output_splits"] = counts.received;
  out["num_global_tokens_per_local_expert"] = counts.by_expert;
  out["routing_map"] = routing_map;
  out["local_input_permutation_mapping"] = at::nonzero(routing_map).select(1, 1);
}
PKB_INPUTS(draw)
