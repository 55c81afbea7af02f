// SPDX-License-Identifier: Apache-2.0
//
// sorted_r = z[start_r : start_r + length_r],  z = all ranks' shard elements in ascending order, N in all
// start_r = r*floor(N/W) + min(r, N mod W), length_r = floor(N/W) + (r < N mod W).   shard [n_r] bf16, n_r may be 0
// Sample sort: every rank that has elements gives as many samples as there are such ranks; splitters from the sorted
// samples cut each sorted shard into buckets; buckets are exchanged, sorted, and evened out.
#include <tuple>

#include "common/owner_exchange.h"

namespace {

using List = std::vector<int64_t>;

/// Equal keys are told apart by their rank and place, so that long runs of them are split as well.
using Sample = std::tuple<double, int64_t, int64_t>;  // value, rank, place in its sorted shard

List gather_number(int64_t number, const at::Tensor& like, pkb::Comm& comm) {
  at::Tensor all = at::empty({comm.size()}, like.options().dtype(at::kLong));
  comm.sizes().all_gather_into_tensor(all, at::full({1}, number, all.options()));
  return pkb::host_list(all);
}

/// Sorted samples of all ranks. `active`: how many ranks have elements.
std::vector<Sample> gather_samples(const at::Tensor& sorted, const List& lengths, int64_t active, pkb::Comm& comm) {
  const auto count_of = [&](int64_t n) { return std::min(active, n); };
  const auto place = [&](int64_t n, int64_t i) { return active < n ? (i + 1) * n / active - 1 : i; };
  const int64_t own = sorted.size(0);
  List places;
  for (int64_t i = 0; i < count_of(own); ++i) places.push_back(place(own, i));
  const at::Tensor index = at::tensor(places, at::kLong).to(sorted.device(), /*non_blocking=*/true);

  at::Tensor values = at::zeros({active}, sorted.options());
  values.narrow(0, 0, index.size(0)).copy_(sorted.index_select(0, index));
  at::Tensor all = at::empty({comm.size(), active}, sorted.options());
  comm.all_gather_into_tensor(all, values);
  const at::Tensor on_host = all.to(at::kCPU).to(at::kDouble);

  std::vector<Sample> samples;
  for (int64_t r = 0; r < comm.size(); ++r) {
    const int64_t n = lengths[static_cast<std::size_t>(r)];
    const double* row = on_host.const_data_ptr<double>() + r * active;
    for (int64_t i = 0; i < count_of(n); ++i) samples.emplace_back(row[i], r, place(n, i));
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

/// How many of the own sorted elements go to each rank: bucket j to the j-th rank that has elements.
List bucket_sizes(const at::Tensor& sorted, const List& lengths, int64_t active, pkb::Comm& comm) {
  const std::vector<Sample> samples = gather_samples(sorted, lengths, active, comm);
  const auto used = static_cast<int64_t>(samples.size());
  std::vector<Sample> splitters;
  std::vector<double> values;
  for (int64_t j = 0; j + 1 < active; ++j) {
    const int64_t chosen = std::clamp<int64_t>((j + 1) * used / active - 1, 0, used - 1);
    splitters.push_back(samples[static_cast<std::size_t>(chosen)]);
    values.push_back(std::get<0>(splitters.back()));
  }
  const at::Tensor cuts = at::tensor(values, at::kDouble).to(sorted.scalar_type()).to(sorted.device());
  const List ends = pkb::host_list(at::stack({at::searchsorted(sorted, cuts, /*out_int32=*/false, /*right=*/false),
                                              at::searchsorted(sorted, cuts, /*out_int32=*/false, /*right=*/true)}));

  List sizes(lengths.size());
  int64_t begin = 0;
  for (std::size_t r = 0, j = 0; r < sizes.size(); ++r) {
    if (lengths[r] == 0) continue;
    int64_t end = sorted.size(0);
    if (j < splitters.size()) {
      const auto [value, rank, place] = splitters[j];
      const int64_t below = ends[j], up_to = ends[splitters.size() + j];
      end = comm.rank() > rank ? below : comm.rank() < rank ? up_to : place + 1;
    }
    end = std::max(begin, std::min(end, sorted.size(0)));
    sizes[r] = end - begin;
    begin = end;
    ++j;
  }
  return sizes;
}

/// Which of places [begin, end) of z lie in each rank's part; rank r's part begins at bounds[r].
List overlaps(int64_t begin, int64_t end, const List& bounds) {
  List sizes;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) {
    sizes.push_back(std::max<int64_t>(0, std::min(end, bounds[r + 1]) - std::max(begin, bounds[r])));
  }
  return sizes;
}

/// `bucket` is sorted, and no element of a higher rank's is smaller: cut it anew into even parts.
at::Tensor even_out(const at::Tensor& bucket, int64_t elements, pkb::Comm& comm) {
  const int64_t ranks = comm.size();
  List held{0}, wanted{0};
  for (const int64_t size : gather_number(bucket.size(0), bucket, comm)) held.push_back(held.back() + size);
  for (int64_t r = 0; r < ranks; ++r) {
    wanted.push_back(wanted.back() + elements / ranks + (r < elements % ranks ? 1 : 0));
  }
  const auto r = static_cast<std::size_t>(comm.rank());
  return pkb::exchange_rows(bucket, {overlaps(held[r], held[r + 1], wanted), overlaps(wanted[r], wanted[r + 1], held)},
                            comm);
}

}  // namespace

pkb::Outputs baseline(const pkb::Inputs& in, pkb::Comm& comm) {
  const at::Tensor& shard = in["shard"];
  const at::Tensor sorted = std::get<0>(shard.sort());
  const List lengths = gather_number(shard.size(0), shard, comm);
  const int64_t elements = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const int64_t active = std::count_if(lengths.begin(), lengths.end(), [](int64_t n) { return n > 0; });
  if (elements == 0) return {{"sorted", sorted}};

  const at::Tensor sizes = at::tensor(bucket_sizes(sorted, lengths, active, comm), at::kLong).to(shard.device());
  const at::Tensor bucket = pkb::exchange_rows(sorted, pkb::exchange_counts(sizes, comm), comm);
  return {{"sorted", even_out(std::get<0>(bucket.sort()), elements, comm)}};
}
PKB_REFERENCE(baseline)
