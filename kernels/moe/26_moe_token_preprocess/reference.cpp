// SPDX-License-Identifier: Apache-2.0
//
// C[s, e] = sum over k, t of rank s's expert_mask[e, k, t];  rank r owns the experts r*L .. r*L + L - 1, L = E/W
// input_splits[d] = sum of C[r, d's experts];  per_local_expert[s, j] = C[s, r*L + j], output_splits[s] its sum over j,
// sum_per_local_expert[j] its sum over s.  All four are wanted on the host
#include <pkb/reference.h>

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const int64_t ranks = comm.size(), rank = comm.rank();
  const at::Tensor own = in["expert_mask"].sum({1, 2});
  at::Tensor all = at::empty({ranks, own.size(0)}, own.options());
  comm.all_gather_into_tensor(all, own);

  const at::Tensor counts = all.to(at::kCPU).view({ranks, ranks, -1});  // [source, owner, its expert]
  const at::Tensor per_local_expert = counts.select(1, rank);
  return {{"input_splits", counts.select(0, rank).sum(1).to(at::kLong)},
          {"output_splits", per_local_expert.sum(1).to(at::kLong)},
          {"per_local_expert", per_local_expert},
          {"sum_per_local_expert", per_local_expert.sum(0)}};
}

/// Every pair is sent once, and arrives where it was sent.
std::string check(const pkb::Inputs& in, const pkb::Outputs& got, const pkb::Outputs&, pkb::Comm& comm) {
  const at::Tensor &mask = in["expert_mask"], &sent = std::get<at::Tensor>(got.at("input_splits"));
  at::Tensor arriving = at::empty(sent.sizes(), sent.options().device(mask.device()));
  comm.all_to_all_single(arriving, sent.to(mask.device()));
  if (sent.sum().item<int64_t>() != mask.size(1) * mask.size(2)) return "input_splits do not add up to M*K";
  const bool agree = at::equal(arriving.to(at::kCPU), std::get<at::Tensor>(got.at("output_splits")));
  return agree ? "" : "output_splits are not what the other ranks' input_splits say";
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, nullptr, check};
  return &reference;
}
