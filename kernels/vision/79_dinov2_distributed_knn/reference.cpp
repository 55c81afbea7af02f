// SPDX-License-Identifier: Apache-2.0
//
// sim[q, j] = bf16(sum over d of queries_r[q, d] * train[d, j]),  train [D, NT]: all ranks' columns, joined
// top_sims[q] = the max_k largest of sim[q], descending, top_labels[q] their samples' labels    (equal sims: smaller j)
// queries [Q_r, D], train_t [D, NT/W] bf16, labels [1, NT/W] i64; queries and results are the rank's own
// Owner after owner: its queries go to all ranks, each one's k nearest back to it.
#include <pkb/reference.h>

#include <limits>

namespace {

at::Tensor broadcast_queries(const at::Tensor& own, int owner, pkb::Comm& comm) {
  const bool is_own = comm.rank() == owner;
  at::Tensor shape = at::empty({2}, own.options().dtype(at::kLong));
  if (is_own) shape.copy_(at::tensor({own.size(0), own.size(1)}, at::kLong), /*non_blocking=*/true);
  comm.sizes().broadcast(shape, owner);
  if (is_own) {
    at::Tensor queries = own;
    comm.broadcast(queries, owner);
    return queries;
  }
  const at::Tensor on_host = shape.to(at::kCPU);
  const auto* sizes = on_host.const_data_ptr<int64_t>();
  at::Tensor queries = at::empty({sizes[0], sizes[1]}, own.options());
  comm.broadcast(queries, owner);
  return queries;
}

/// Every rank's part [q, k] on the owner, joined along the second axis; elsewhere nothing.
at::Tensor gather_columns(const at::Tensor& part, int owner, pkb::Comm& comm) {
  std::vector<at::Tensor> parts;
  if (comm.rank() == owner) {
    for (int rank = 0; rank < comm.size(); ++rank) parts.push_back(at::empty_like(part));
  }
  comm.gather(parts, part, owner);
  return parts.empty() ? at::Tensor() : at::cat(parts, 1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor &train = in["train_t"], &labels = in["labels"];
  const int64_t k = in.integer("max_k");
  TORCH_CHECK(k <= train.size(1), "max_k, ", k, ", is more than a rank's ", train.size(1), " samples");
  pkb::Outputs outputs;
  for (int owner = 0; owner < comm.size(); ++owner) {
    const at::Tensor queries = broadcast_queries(in["queries"], owner, comm);
    const auto [sims, columns] = at::topk(at::matmul(queries, train), k);
    const at::Tensor all_sims = gather_columns(sims, owner, comm);
    const at::Tensor all_labels = gather_columns(labels.expand({queries.size(0), -1}).gather(1, columns), owner, comm);
    if (comm.rank() != owner) continue;
    const auto [top_sims, places] = at::topk(all_sims, k);
    outputs["top_sims"] = top_sims;
    outputs["top_labels"] = all_labels.gather(1, places);
  }
  return outputs;
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
