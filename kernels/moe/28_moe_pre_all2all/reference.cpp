// SPDX-License-Identifier: Apache-2.0
//
// routing_map[e, t] = sum_k expert_mask[e, k, t];  mapping: the tokens t of its pairs (e, t) != 0, e outer, t ascending
// x = hidden_states[mapping], rows to rank d by input_splits; what arrives from s is cut into n[s, l] rows for each
// local expert l and reordered from (s, l) to (l, s).   hidden_states [T, H], result [sum of output_splits, H], bf16
#include "common/owner_exchange.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& hidden = in["hidden_states"];
  const at::Tensor routing_map = in["expert_mask"].sum(1);
  const at::Tensor mapping = at::nonzero(routing_map).select(1, 1).contiguous();
  const pkb::Splits splits{pkb::host_list(in["input_splits"]), pkb::host_list(in["output_splits"])};
  const at::Tensor arrived = pkb::exchange_rows(hidden.index_select(0, mapping), splits, comm);

  const at::Tensor& by_expert = in["num_global_tokens_per_local_expert"];
  const int64_t sources = by_expert.size(0), experts = by_expert.size(1);
  const std::vector<at::Tensor> chunks = arrived.split_with_sizes(pkb::host_list(by_expert));
  std::vector<at::Tensor> reordered;
  for (int64_t l = 0; l < experts; ++l) {
    for (int64_t s = 0; s < sources; ++s) reordered.push_back(chunks[static_cast<std::size_t>(s * experts + l)]);
  }
  return {{"global_permuted_hidden_states", at::cat(reordered)},
          {"routing_map", routing_map},
          {"local_input_permutation_mapping", mapping},
          {"org_hidden_states_shape", at::tensor(hidden.sizes(), at::kLong)}};
}
PKB_REFERENCE(baseline)
