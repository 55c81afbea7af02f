// SPDX-License-Identifier: Apache-2.0
//
// Rows that travel to their owners: grouped by owner, counts exchanged, then an uneven all-to-all.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pkb/reference.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace pkb {

/// A whole-number tensor as a list; synchronises when it is on a GPU.
inline std::vector<int64_t> host_list(const at::Tensor& tensor) {
  const at::Tensor on_host = tensor.to(at::kCPU).contiguous();
  const auto* data = on_host.const_data_ptr<int64_t>();
  return {data, data + on_host.numel()};
}

/// Whole numbers on their way to the host. list() waits for them, but for nothing that is launched after this is made.
class OnHost {
 public:
  explicit OnHost(const at::Tensor& numbers) : numbers_(numbers.contiguous().to(at::kCPU, /*non_blocking=*/true)) {
    if (!numbers.is_cuda()) return;
    arrived_.emplace(at::kCUDA);
    arrived_->record(c10::impl::VirtualGuardImpl(at::kCUDA).getStream(numbers.device()));
  }

  std::vector<int64_t> list() const {
    if (arrived_) arrived_->synchronize();
    const auto* data = numbers_.const_data_ptr<int64_t>();
    return {data, data + numbers_.numel()};
  }

 private:
  at::Tensor numbers_;  // from a GPU: pinned
  std::optional<c10::Event> arrived_;
};

/// Rows to and from each rank, in rank order.
struct Splits {
  std::vector<int64_t> sent, received;
  Splits back() const { return {received, sent}; }
};

/// What rank p gets of `rows` are split number p; what arrives is in the order of the sources.
inline at::Tensor exchange_rows(const at::Tensor& rows, const Splits& splits, Comm& comm) {
  if (comm.size() == 1) return rows;
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

/// Every rank tells every other how many rows it will send. What the device does next can be launched before the splits
/// are read.
class ArrivingSplits {
 public:
  ArrivingSplits(const at::Tensor& counts, Comm& comm) : both_(exchanged(counts, comm)) {}
  Splits read() const {
    const std::vector<int64_t> list = both_.list();
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
    return {{list.begin(), middle}, {middle, list.end()}};
  }

 private:
  static at::Tensor exchanged(const at::Tensor& counts, Comm& comm) {
    at::Tensor both = at::empty({2, counts.numel()}, counts.options());
    at::Tensor received = both.select(0, 1);
    both.select(0, 0).copy_(counts);
    comm.sizes().all_to_all_single(received, counts);
    return both;
  }

  OnHost both_;
};

inline Splits exchange_counts(const at::Tensor& counts, Comm& comm) {
  return ArrivingSplits(counts, comm).read();
}

/// Rows of a table that is spread over the ranks, rank p holding rows first_p ..: asked of their owners by id.
struct PulledRows {
  at::Tensor rows, order;  ///< row i is that of ids[order[i]]
};

inline PulledRows pull_rows(const at::Tensor& ids, const at::Tensor& owner, const at::Tensor& own_rows,
                            int64_t first_row, Comm& comm) {
  const auto [order, counts] = group_by_owner(owner, comm.size());
  const ArrivingSplits counted(counts, comm);
  const at::Tensor in_order = ids.index_select(0, order);
  const Splits splits = counted.read();
  const at::Tensor asked = exchange_rows(in_order, splits, comm.sizes());
  const at::Tensor found = own_rows.index_select(0, asked - first_row);
  return {exchange_rows(found, splits.back(), comm), order};
}

}  // namespace pkb
