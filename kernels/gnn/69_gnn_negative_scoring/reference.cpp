// SPDX-License-Identifier: Apache-2.0
//
// ranking[i] = 1 + number of k with s(negative[i, k]) > s(positive[i]),  s(x) = bf16(1/(1 + e^-x)); equal scores do not
// count.   Row i: rank-major over all ranks' local_pos_scores [n_r] and local_neg_scores [n_r, num_neg], bf16
#include "common/owner_exchange.h"

namespace {

at::Tensor gather_rows(const at::Tensor& own, const std::vector<int64_t>& rows, pkb::Comm& comm) {
  std::vector<at::Tensor> parts;
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  const at::Tensor all = at::empty(shape, own.options());
  for (int64_t p = 0, first = 0; p < comm.size(); first += rows[static_cast<std::size_t>(p)], ++p) {
    parts.push_back(all.narrow(0, first, rows[static_cast<std::size_t>(p)]));
  }
  comm.all_gather(parts, own);
  return all;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &own_positive = in["local_pos_scores"], &own_negative = in["local_neg_scores"];
  at::Tensor counts = at::empty({comm.size()}, own_positive.options().dtype(at::kLong));
  comm.sizes().all_gather_into_tensor(counts, at::full({1}, own_positive.size(0), counts.options()));
  const std::vector<int64_t> rows = pkb::host_list(counts);

  const at::Tensor positive = gather_rows(own_positive, rows, comm).sigmoid_();
  const at::Tensor negative = gather_rows(own_negative, rows, comm).sigmoid_();
  return {{"ranking", (negative > positive.unsqueeze(-1)).sum(-1).add_(1)}};
}
PKB_REFERENCE(baseline)
