// SPDX-License-Identifier: Apache-2.0
//
// Bag (f, b) of rank p: lengths[f*B_p + b] consecutive values. Feature f's bags of all ranks go to the rank that owns f
// (key_splits[d] features in a row to rank d), which orders them by feature, then source rank, then sample:
// lengths_out [own features * sum B_p], values_out (and weights_out) their values;  stride = sum B_p
#include "common/owner_exchange.h"

namespace {

using List = std::vector<int64_t>;

/// Sums of consecutive pieces.
List piece_sums(const List& numbers, const List& pieces) {
  List sums;
  auto next = numbers.begin();
  for (const int64_t piece : pieces) {
    sums.push_back(std::accumulate(next, next + piece, int64_t{0}));
    next += piece;
  }
  return sums;
}

/// Elements of each feature: of the own ones to be sent, and of those that come, by source and then feature.
struct Runs {
  List sent, received;
};

/// `rows` by feature to the features' owners; what arrives by feature and then source.
at::Tensor to_owners(const at::Tensor& rows, const Runs& runs, const List& key_splits, pkb::Comm& comm) {
  const int64_t ranks = comm.size(), features = key_splits[static_cast<std::size_t>(comm.rank())];
  const List features_of_source(static_cast<std::size_t>(ranks), features);
  const pkb::Splits splits{piece_sums(runs.sent, key_splits), piece_sums(runs.received, features_of_source)};
  const std::vector<at::Tensor> parts = pkb::exchange_rows(rows, splits, comm).split_with_sizes(runs.received);
  std::vector<at::Tensor> in_order;
  for (int64_t f = 0; f < features; ++f) {
    for (int64_t p = 0; p < ranks; ++p) in_order.push_back(parts[static_cast<std::size_t>(p * features + f)]);
  }
  return at::cat(in_order);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& lengths = in["lengths"];
  const int64_t batch = in.integer("batch_size"), ranks = comm.size();
  const List key_splits = pkb::host_list(in["key_splits"]);
  const int64_t features = std::accumulate(key_splits.begin(), key_splits.end(), int64_t{0});
  const int64_t own_features = key_splits[static_cast<std::size_t>(comm.rank())];
  TORCH_CHECK(own_features > 0, "rank ", comm.rank(), " owns no feature");

  // Of every feature the number of values and of bags: sent, then received. From these follows the rest.
  const at::Tensor sizes = at::full({features + ranks * own_features, 2}, batch, lengths.options());
  const at::Tensor sent = sizes.narrow(0, 0, features);
  sent.select(1, 0).copy_(lengths.view({features, batch}).sum(1));
  at::Tensor received = sizes.narrow(0, features, ranks * own_features);
  comm.sizes().all_to_all_single(received, sent, List(static_cast<std::size_t>(ranks), own_features), key_splits);
  const pkb::OnHost arriving(sizes);
  const at::Tensor stride_per_rank = received.select(1, 1).slice(0, 0, {}, own_features).contiguous();
  const at::Tensor stride = stride_per_rank.sum();

  const List list = arriving.list();
  const auto runs = [&](std::size_t column) {
    Runs result;
    for (std::size_t row = 0; 2 * row < list.size(); ++row) {
      (static_cast<int64_t>(row) < features ? result.sent : result.received).push_back(list[2 * row + column]);
    }
    return result;
  };
  const Runs values = runs(0), bags = runs(1);
  pkb::Outputs outputs{{"lengths_out", to_owners(lengths, bags, key_splits, comm.sizes())},
                       {"values_out", to_owners(in["values"], values, key_splits, comm)},
                       {"stride", stride},
                       {"stride_per_rank", stride_per_rank}};
  if (const auto weights = in.optional("weights"))
    outputs["weights_out"] = to_owners(*weights, values, key_splits, comm);
  return outputs;
}
PKB_REFERENCE(baseline)
