// SPDX-License-Identifier: Apache-2.0
//
// ranking[i] = 1 + number of k with s(negative[i, k]) > s(positive[i]),  s(x) = bf16(1/(1 + e^-x)); equal scores do not
// count.   Row i: rank-major over all ranks' local_pos_scores [n_r] and local_neg_scores [n_r, num_neg], bf16
#include "common/owner_exchange.h"

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &positive = in["local_pos_scores"], &negative = in["local_neg_scores"];
  at::Tensor counts = at::empty({comm.size()}, positive.options().dtype(at::kLong));
  comm.sizes().all_gather_into_tensor(counts, at::full({1}, positive.size(0), counts.options()));
  const pkb::OnHost rows(counts);

  const at::Tensor own = (negative.sigmoid() > positive.sigmoid().unsqueeze(-1)).sum(-1).add_(1);
  const std::vector<int64_t> sizes = rows.list();
  const at::Tensor ranking = at::empty({std::accumulate(sizes.begin(), sizes.end(), int64_t{0})}, own.options());
  std::vector<at::Tensor> parts = ranking.split_with_sizes(sizes);
  comm.all_gather(parts, own);
  return {{"ranking", ranking}};
}
PKB_REFERENCE(baseline)
