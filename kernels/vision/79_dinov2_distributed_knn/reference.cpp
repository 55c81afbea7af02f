// SPDX-License-Identifier: Apache-2.0
//
// sim[q, j] = bf16(sum over d of queries_r[q, d] * train[d, j]),  train [D, NT]: all ranks' columns, joined
// top_sims[q] = the max_k largest of sim[q], descending, top_labels[q] their samples' labels    (equal sims: smaller j)
// queries [Q_r, D], train_t [D, NT/W] bf16, labels [1, NT/W] i64; queries and results are the rank's own
// Every rank finds the k nearest of its own columns to all ranks' queries; the queries' owners merge them.
#include <algorithm>
#include <limits>

#include "common/owner_exchange.h"

namespace {

using List = std::vector<int64_t>;

List gather_number(int64_t number, const at::Tensor& like, pkb::Comm& comm) {
  at::Tensor all = at::empty({comm.size()}, like.options().dtype(at::kLong));
  comm.sizes().all_gather_into_tensor(all, at::full({1}, number, all.options()));
  return pkb::host_list(all);
}

/// Rows of all ranks, in rank order.
at::Tensor gather_rows(const at::Tensor& rows, const List& counts, pkb::Comm& comm) {
  at::Tensor all = at::empty({std::accumulate(counts.begin(), counts.end(), int64_t{0}), rows.size(1)}, rows.options());
  if (std::equal(counts.begin() + 1, counts.end(), counts.begin())) {
    comm.all_gather_into_tensor(all, rows);
  } else {
    std::vector<at::Tensor> parts = all.split_with_sizes(counts);
    comm.all_gather(parts, rows);
  }
  return all;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &queries = in["queries"], &train = in["train_t"];
  const int64_t k = in.integer("max_k"), ranks = comm.size(), own = queries.size(0);
  TORCH_CHECK(k <= train.size(1), "max_k, ", k, ", is more than a rank's ", train.size(1), " samples");

  const List counts = gather_number(own, queries, comm);
  const auto [sims, columns] = at::topk(at::matmul(gather_rows(queries, counts, comm), train), k);
  const pkb::Splits to_owners{counts, List(static_cast<std::size_t>(ranks), own)};
  const auto candidates = [&](const at::Tensor& found) {  // of the own queries, [own, W*k]
    return pkb::exchange_rows(found, to_owners, comm).view({ranks, own, k}).transpose(0, 1).flatten(1);
  };
  const auto [top_sims, places] = at::topk(candidates(sims), k);
  return {{"top_sims", top_sims}, {"top_labels", candidates(in["labels"].take(columns)).gather(1, places)}};
}

/// sim[q, label] of the own queries and all ranks' samples, in fp64.
at::Tensor exact_similarities(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor queries = in["queries"].to(at::kDouble);
  at::Tensor sims = at::empty({queries.size(0), in["train_t"].size(1) * comm.size()}, queries.options());
  for (int owner = 0; owner < comm.size(); ++owner) {
    const auto of_owner = [&](const at::Tensor& own) {
      at::Tensor tensor = comm.rank() == owner ? own : at::empty_like(own);
      comm.broadcast(tensor, owner);
      return tensor;
    };
    const at::Tensor train = of_owner(in["train_t"]), labels = of_owner(in["labels"]);
    sims.index_copy_(1, labels.view(-1), at::mm(queries, train.to(at::kDouble)));
  }
  return sims;
}

/// Labels by meaning, whichever the order of equal similarities.
std::string check(const pkb::Inputs& in, const pkb::Outputs& got, const pkb::Outputs&, pkb::Comm& comm) {
  constexpr double kAbsolute = 2e-3, kRelative = 4e-3, kClear = 4e-3;
  const at::Tensor exact = exact_similarities(in, comm);
  const at::Tensor reported = std::get<at::Tensor>(got.at("top_sims")).to(at::kDouble);
  const at::Tensor& labels = std::get<at::Tensor>(got.at("top_labels"));
  const auto any = [](const at::Tensor& condition) { return condition.any().item<bool>(); };
  const auto later = [](const at::Tensor& rows) { return rows.slice(1, 1); };
  const auto earlier = [](const at::Tensor& rows) { return rows.slice(1, 0, -1); };

  if (any((labels < 0).logical_or(labels >= exact.size(1)))) return "a label in top_labels names no sample";
  const at::Tensor in_order = std::get<0>(labels.sort(1));
  if (any(later(in_order) == earlier(in_order))) return "a row of top_labels names a sample twice";
  if (any(later(reported) > earlier(reported))) return "a row of top_sims is not in descending order";
  const at::Tensor difference = exact.gather(1, labels).sub_(reported).abs_();
  if (any((difference <= reported.abs().mul_(kRelative).add_(kAbsolute)).logical_not())) {
    return "a sample that top_labels names has another similarity than top_sims says";
  }
  const at::Tensor least = std::get<0>(exact.topk(labels.size(1))).slice(1, -1);
  const at::Tensor left_out = exact.scatter(1, labels, -std::numeric_limits<double>::infinity());
  return any(left_out > least + kClear) ? "a sample that is clearly among the nearest is missing in top_labels" : "";
}

extern "C" __attribute__((visibility("default"))) const pkb::Reference* pkb_reference() {
  static const pkb::Reference reference{{{"baseline", baseline}}, nullptr, check};
  return &reference;
}
