// SPDX-License-Identifier: Apache-2.0
//
// expert_outputs, chunks of n[s, l] rows in the order (l, s), become (s, l); block s goes back to rank s, giving z [P,
// H] in the order of the true pairs (e, t) of routing_map.   hidden_out[t] = sum over the pairs i of t of z[i] * v[i],
// v[i] = the weight with which t chose e.   bf16; the baseline rounds products and sums, the answer is their exact sum
#include "common/owner_exchange.h"

namespace {

/// z [P, H]
at::Tensor returned_rows(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& by_expert = in["num_global_tokens_per_local_expert"];
  const int64_t sources = by_expert.size(0), experts = by_expert.size(1);
  const std::vector<at::Tensor> chunks = in["expert_outputs"].split_with_sizes(pkb::host_list(by_expert.t()));
  std::vector<at::Tensor> reordered;
  for (int64_t s = 0; s < sources; ++s) {
    for (int64_t l = 0; l < experts; ++l) reordered.push_back(chunks[static_cast<std::size_t>(l * sources + s)]);
  }
  const pkb::Splits dispatch{pkb::host_list(in["input_splits"]), pkb::host_list(in["output_splits"])};
  return pkb::exchange_rows(at::cat(reordered), dispatch.back(), comm);
}

/// v [P, 1]
at::Tensor pair_weights(const pkb::Inputs& in) {
  const at::Tensor &routing_map = in["routing_map"], &weights = in["routing_weights"];
  const at::Tensor dense = at::zeros(routing_map.sizes(), weights.options());
  dense.scatter_add_(0, in["selected_experts"].t(), weights.t());
  return dense.masked_select(routing_map).unsqueeze(-1);
}

at::Tensor sum_by_token(const at::Tensor& rows, const pkb::Inputs& in) {
  const at::Tensor sums = at::zeros({in["routing_map"].size(1), rows.size(1)}, rows.options());
  return sums.index_add_(0, in["local_input_permutation_mapping"], rows);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  return {{"hidden_out", sum_by_token(returned_rows(in, comm).mul_(pair_weights(in)), in)}};
}

pkb::Outputs expected(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor exact = returned_rows(in, comm).to(at::kDouble) * pair_weights(in);
  return {{"hidden_out", sum_by_token(exact, in).to(at::kBFloat16)}};
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, expected};
  return &reference;
}
