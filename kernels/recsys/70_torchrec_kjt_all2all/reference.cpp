// SPDX-License-Identifier: Apache-2.0
//
// Bag (f, b) of rank p: lengths[f*B_p + b] consecutive values. Feature f's bags of all ranks go to the rank that owns f
// (key_splits[d] features in a row to rank d), which orders them by feature, then source rank, then sample:
// lengths_out [own features * sum B_p], values_out (and weights_out) their values;  stride = sum B_p
#include "common/owner_exchange.h"

namespace {

using List = std::vector<int64_t>;

List scaled(const List& list, int64_t factor) {
  List result;
  for (const int64_t element : list) result.push_back(element * factor);
  return result;
}

/// [values to each rank]; features of one owner lie together.
at::Tensor values_by_owner(const at::Tensor& lengths, const List& lengths_sent) {
  std::vector<at::Tensor> sums;
  for (const at::Tensor& part : lengths.split_with_sizes(lengths_sent)) sums.push_back(part.sum());
  return at::stack(sums);
}

/// One number a bag, from (source, feature, sample) to (feature, source, sample).
at::Tensor feature_major(const at::Tensor& by_source, const List& batches, int64_t features) {
  std::vector<at::Tensor> blocks;
  int64_t first = 0;
  for (const int64_t batch : batches) {
    blocks.push_back(by_source.narrow(0, first, features * batch).view({features, batch}));
    first += features * batch;
  }
  return at::cat(blocks, 1).view(-1);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& lengths = in["lengths"];
  const int64_t batch = in.integer("batch_size");
  const List key_splits = pkb::host_list(in["key_splits"]);
  const int64_t own_features = key_splits[static_cast<std::size_t>(comm.rank())];

  // Per destination: how many values, and the batch size. From these follow the lengths.
  const List lengths_sent = scaled(key_splits, batch);
  const at::Tensor values_sent = values_by_owner(lengths, lengths_sent);
  const at::Tensor sizes_sent = at::stack({values_sent, at::full_like(values_sent, batch)}, 1);
  at::Tensor sizes = at::empty_like(sizes_sent);
  comm.sizes().all_to_all_single(sizes, sizes_sent);
  const at::Tensor stride_per_rank = sizes.select(1, 1).contiguous();
  const at::Tensor on_host = at::stack({values_sent, sizes.select(1, 0), stride_per_rank}).to(at::kCPU);
  const pkb::Splits value_splits{pkb::host_list(on_host[0]), pkb::host_list(on_host[1])};
  const List batches = pkb::host_list(on_host[2]);

  const at::Tensor arrived = pkb::exchange_rows(lengths, {lengths_sent, scaled(batches, own_features)}, comm.sizes());
  const at::Tensor lengths_out = feature_major(arrived, batches, own_features);
  // Value j of the result is value j + shift of what arrived, shift being the same for all of a bag.
  const at::Tensor first_arrived = feature_major(arrived.cumsum(0) - arrived, batches, own_features);
  const at::Tensor shift = first_arrived - (lengths_out.cumsum(0) - lengths_out);
  const int64_t values = std::accumulate(value_splits.received.begin(), value_splits.received.end(), int64_t{0});
  const at::Tensor order =
      at::repeat_interleave(shift, lengths_out, 0, values).add_(at::arange(values, lengths.options()));
  const auto reordered = [&](const at::Tensor& rows) {
    return pkb::exchange_rows(rows, value_splits, comm).index_select(0, order);
  };

  pkb::Outputs outputs{{"lengths_out", lengths_out},
                       {"values_out", reordered(in["values"])},
                       {"stride", stride_per_rank.sum()},
                       {"stride_per_rank", stride_per_rank}};
  if (const auto weights = in.optional("weights")) outputs["weights_out"] = reordered(*weights);
  return outputs;
}
PKB_REFERENCE(baseline)
