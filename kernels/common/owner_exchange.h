// SPDX-License-Identifier: Apache-2.0
//
// Rows that travel to their owners: grouped by owner, counts exchanged, then an uneven all-to-all.
#pragma once

#include <pkb/reference.h>

#include <numeric>
#include <utility>
#include <vector>

namespace pkb {

/// A whole-number tensor as a list; synchronises when it is on a GPU.
inline std::vector<int64_t> host_list(const at::Tensor& tensor) {
  const at::Tensor on_host = tensor.to(at::kCPU).contiguous();
  const auto* data = on_host.const_data_ptr<int64_t>();
  return {data, data + on_host.numel()};
}

/// Rows to and from each rank, in rank order.
struct Splits {
  std::vector<int64_t> sent, received;
  Splits back() const { return {received, sent}; }
};

/// What rank p gets of `rows` are split number p; what arrives is in the order of the sources.
inline at::Tensor exchange_rows(const at::Tensor& rows, const Splits& splits, Comm& comm) {
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = std::accumulate(splits.received.begin(), splits.received.end(), int64_t{0});
  at::Tensor arrived = at::empty(shape, rows.options());
  comm.all_to_all_single(arrived, rows, splits.received, splits.sent);
  return arrived;
}

/// Element numbers in the order of their owners, equal owners in their own order, and how many each owner has [W].
struct ByOwner {
  at::Tensor order, counts;
};

inline ByOwner group_by_owner(const at::Tensor& owner, int64_t ranks) {
  const auto [sorted, order] = at::sort(owner, /*stable=*/true, /*dim=*/0, /*descending=*/false);
  const at::Tensor bounds = at::searchsorted(sorted, at::arange(ranks + 1, owner.options()));
  return {order, bounds.diff()};
}

/// Every rank tells every other how many rows it will send; read on the host at once.
inline Splits exchange_counts(const at::Tensor& counts, Comm& comm) {
  at::Tensor both = at::empty({2, counts.numel()}, counts.options());
  at::Tensor received = both.select(0, 1);
  both.select(0, 0).copy_(counts);
  comm.sizes().all_to_all_single(received, counts);
  const std::vector<int64_t> list = host_list(both);
  const auto middle = list.begin() + counts.numel();
  return {{list.begin(), middle}, {middle, list.end()}};
}

/// Rows of a table that is spread over the ranks, rank p holding rows first_p ..: asked of their owners by id.
struct PulledRows {
  at::Tensor rows, order;  ///< row i is that of ids[order[i]]
};

inline PulledRows pull_rows(const at::Tensor& ids, const at::Tensor& owner, const at::Tensor& own_rows,
                            int64_t first_row, Comm& comm) {
  const auto [order, counts] = group_by_owner(owner, comm.size());
  const Splits splits = exchange_counts(counts, comm);
  const at::Tensor asked = exchange_rows(ids.index_select(0, order), splits, comm.sizes());
  const at::Tensor found = own_rows.index_select(0, asked - first_row);
  return {exchange_rows(found, splits.back(), comm), order};
}

}  // namespace pkb
