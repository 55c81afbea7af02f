// SPDX-License-Identifier: Apache-2.0
//
// sorted_r = z[start_r : start_r + length_r],  z = all ranks' shard elements in ascending order, N in all
// start_r = r*floor(N/W) + min(r, N mod W), length_r = floor(N/W) + (r < N mod W).   shard [n_r] bf16, n_r may be 0
// Sample sort: every rank that has elements gives W samples; splitters from the sorted samples cut each sorted shard
// into buckets; buckets are exchanged, sorted, and evened out.
#include <algorithm>
#include <limits>

#include "common/owner_exchange.h"

namespace {

using List = std::vector<int64_t>;

/// The own keys at W places, as evenly apart as can be, with the place: [W, 2] fp64. NaN, which sorts last, where the
/// rank has none.
at::Tensor samples_of(const at::Tensor& keys, int64_t ranks) {
  const int64_t own = keys.size(0);
  const auto options = keys.options().dtype(at::kDouble);
  if (own == 0) return at::full({ranks, 2}, std::numeric_limits<double>::quiet_NaN(), options);
  const at::Tensor turn = at::arange(1, ranks + 1, options.dtype(at::kLong));
  const at::Tensor places = turn.mul_(own).floor_divide_(ranks).sub_(1).clamp_min_(0);
  return at::stack({keys.index_select(0, places).to(at::kDouble), places.to(at::kDouble)}, 1);
}

/// How many of the own sorted keys go to each rank. Equal keys are told apart by their rank and place, so that long
/// runs of them are split as well.
at::Tensor bucket_sizes(const at::Tensor& keys, pkb::Comm& comm) {
  const int64_t ranks = comm.size(), own = keys.size(0);
  const at::Tensor own_samples = samples_of(keys, ranks);
  at::Tensor samples = at::empty({ranks * ranks, 2}, own_samples.options());
  comm.all_gather_into_tensor(samples, own_samples);

  // By value, then rank and place, for so they lie already.
  const auto [values, order] = at::sort(samples.select(1, 0), /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor valid = values.isnan().logical_not_().sum();
  const at::Tensor turn = at::arange(1, ranks, valid.options());
  const at::Tensor chosen = turn.mul_(valid).floor_divide_(ranks).sub_(1).clamp_min_(0);
  const at::Tensor sample = order.index_select(0, chosen), rank = sample.floor_divide(ranks);
  const at::Tensor cut = values.index_select(0, chosen).to(keys.scalar_type());
  const at::Tensor up_to_it = samples.select(1, 1).index_select(0, sample).nan_to_num_().to(at::kLong).add_(1);

  const at::Tensor below = at::searchsorted(keys, cut),
                   up_to_equals = at::searchsorted(keys, cut, false, /*right=*/true);
  const at::Tensor ends = at::where(rank < comm.rank(), below, at::where(rank > comm.rank(), up_to_equals, up_to_it));
  return at::cat({at::zeros({1}, ends.options()), ends.clamp_max(own), at::full({1}, own, ends.options())}).diff();
}

/// Which of places [begin, end) of z lie in each rank's part; rank r's part begins at bounds[r].
List overlaps(int64_t begin, int64_t end, const List& bounds) {
  List sizes;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
    sizes.push_back(std::max<int64_t>(0, std::min(end, bounds[r + 1]) - std::max(begin, bounds[r])));
  }
  return sizes;
}

List running_sum(const List& sizes) {
  List sums{0};
  for (const int64_t size : sizes) sums.push_back(sums.back() + size);
  return sums;
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const int64_t ranks = comm.size();
  const auto own = static_cast<std::size_t>(comm.rank());
  const at::Tensor keys = std::get<0>(in["shard"].sort());
  const at::Tensor sizes = bucket_sizes(keys, comm);
  at::Tensor all_sizes = at::empty({ranks, ranks}, sizes.options());
  comm.sizes().all_gather_into_tensor(all_sizes, sizes);
  const List from_to = pkb::host_list(all_sizes);  // the one thing that the host reads

  pkb::Splits to_buckets;
  List bucket(static_cast<std::size_t>(ranks));
  for (std::size_t p = 0; p < bucket.size(); ++p) {
    const auto* row = &from_to[p * bucket.size()];
    to_buckets.received.push_back(row[own]);
    if (p == own) to_buckets.sent.assign(row, row + ranks);
    for (std::size_t q = 0; q < bucket.size(); ++q) bucket[q] += row[q];
  }
  const at::Tensor sorted = std::get<0>(pkb::exchange_rows(keys, to_buckets, comm).sort());

  // Bucket after bucket is z: cut it anew, into even parts.
  const List held = running_sum(bucket);
  const int64_t elements = held.back();
  List even;
  for (int64_t r = 0; r < ranks; ++r) even.push_back(elements / ranks + (r < elements % ranks ? 1 : 0));
  const List wanted = running_sum(even);
  const pkb::Splits to_parts{overlaps(held[own], held[own + 1], wanted), overlaps(wanted[own], wanted[own + 1], held)};
  return {{"sorted", pkb::exchange_rows(sorted, to_parts, comm)}};
}
PKB_REFERENCE(baseline)
