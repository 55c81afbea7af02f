// SPDX-License-Identifier: Apache-2.0
//
// The basics of cooperative groups: grid, block, tiles of a warp, coalesced threads; sync, shuffles, votes, reduce,
// memcpy_async.
#pragma once

#include "hostcuda/cuda/launch.h"
#include "hostcuda/cuda/math.h"
#include "hostcuda/cuda/warp.h"

namespace cooperative_groups {

using pkb::hostcuda::Site;

class grid_group {
 public:
  void sync(PKB_HOSTCUDA_SITE) const { pkb::hostcuda::grid_barrier(site); }
  bool is_valid() const { return pkb::hostcuda::grid_is_cooperative(); }
  static unsigned long long size() { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long num_blocks() { return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z; }
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long thread_rank() {
    return block_rank() * blockDim.x * blockDim.y * blockDim.z + pkb::hostcuda::current_thread->linear;
  }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static uint3 block_index() { return blockIdx; }
};
inline grid_group this_grid() {
  return {};
}

class thread_block {
 public:
  void sync(PKB_HOSTCUDA_SITE) const { __syncthreads(site); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return pkb::hostcuda::current_thread->linear; }
  static uint3 group_index() { return blockIdx; }
  static uint3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() {
  return {};
}

/// Lanes of one warp in rank order.
class WarpGroup {
 public:
  explicit WarpGroup(unsigned mask) : mask_(mask) {}

  unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << lane()) - 1))); }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  void sync(PKB_HOSTCUDA_SITE) const { __syncwarp(mask_, site); }

  template <class T>
  T shfl(T value, int source, PKB_HOSTCUDA_SITE) const {
    return read(value, static_cast<unsigned>(source) % size(), site);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, PKB_HOSTCUDA_SITE) const {
    const unsigned rank = thread_rank();
    return read(value, rank >= delta ? rank - delta : rank, site);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, PKB_HOSTCUDA_SITE) const {
    const unsigned rank = thread_rank();
    return read(value, delta < size() - rank ? rank + delta : rank, site);
  }
  template <class T>
  T shfl_xor(T value, unsigned rank_mask, PKB_HOSTCUDA_SITE) const {
    const unsigned rank = thread_rank(), source = rank ^ rank_mask;
    return read(value, source < size() ? source : rank, site);
  }
  int any(int predicate, PKB_HOSTCUDA_SITE) const { return __any_sync(mask_, predicate, site); }
  int all(int predicate, PKB_HOSTCUDA_SITE) const { return __all_sync(mask_, predicate, site); }
  unsigned ballot(int predicate, PKB_HOSTCUDA_SITE) const { return by_rank(__ballot_sync(mask_, predicate, site)); }
  template <class T>
  unsigned match_any(T value, PKB_HOSTCUDA_SITE) const {
    return by_rank(__match_any_sync(mask_, value, site));
  }
  template <class T>
  unsigned match_all(T value, int& all, PKB_HOSTCUDA_SITE) const {
    return by_rank(__match_all_sync(mask_, value, &all, site));
  }
  unsigned lane_mask() const { return mask_; }

 private:
  static unsigned lane() { return pkb::hostcuda::current_thread->lane(); }
  unsigned lane_of(unsigned rank) const {
    unsigned left = mask_;
    for (; rank > 0; --rank) left &= left - 1;
    return static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
  }
  unsigned by_rank(unsigned lanes) const {
    unsigned ranks = 0, rank = 0;
    for (unsigned left = mask_; left != 0; left &= left - 1, ++rank) {
      if ((lanes & left & -left) != 0) ranks |= 1u << rank;
    }
    return ranks;
  }
  template <class T>
  T read(T value, unsigned rank, Site site) const {
    return pkb::hostcuda::detail::shuffle(mask_, value, lane_of(rank), site);
  }

  unsigned mask_;
};

template <unsigned kSize, class Parent = void>
class thread_block_tile : public WarpGroup {
 public:
  static_assert(kSize >= 1 && kSize <= 32 && (kSize & (kSize - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 threads");

  thread_block_tile() : WarpGroup(tile_mask()) {}
  static constexpr unsigned size() { return kSize; }
  static constexpr unsigned num_threads() { return kSize; }
  static unsigned meta_group_rank() { return pkb::hostcuda::current_thread->linear / kSize; }
  static unsigned meta_group_size() { return (thread_block::size() + kSize - 1) / kSize; }

 private:
  static unsigned tile_mask() {
    const unsigned ones = kSize == 32 ? 0xffffffffu : (1u << (kSize % 32)) - 1;
    return ones << (pkb::hostcuda::current_thread->lane() / kSize * kSize);
  }
};

template <unsigned kSize, class Parent>
thread_block_tile<kSize, Parent> tiled_partition(const Parent&) {
  return {};
}

class coalesced_group : public WarpGroup {
 public:
  explicit coalesced_group(unsigned mask) : WarpGroup(mask) {}
};
inline coalesced_group coalesced_threads(PKB_HOSTCUDA_SITE) {
  return coalesced_group(__activemask(site));
}

template <class Group>
void sync(const Group& group, PKB_HOSTCUDA_SITE) {
  group.sync(site);
}

template <class T = void>
struct plus {
  template <class U>
  U operator()(U a, U b) const {
    return a + b;
  }
};
template <class T = void>
struct less {
  template <class U>
  U operator()(U a, U b) const {
    return b < a ? b : a;
  }
};
template <class T = void>
struct greater {
  template <class U>
  U operator()(U a, U b) const {
    return a < b ? b : a;
  }
};
template <class T = void>
struct bit_and {
  template <class U>
  U operator()(U a, U b) const {
    return a & b;
  }
};
template <class T = void>
struct bit_or {
  template <class U>
  U operator()(U a, U b) const {
    return a | b;
  }
};
template <class T = void>
struct bit_xor {
  template <class U>
  U operator()(U a, U b) const {
    return a ^ b;
  }
};

/// Every thread of a warp group gets the result, the same bits: combined in rank order.
template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation operation, PKB_HOSTCUDA_SITE) {
  T total = group.shfl(value, 0, site);
  for (unsigned rank = 1; rank < group.size(); ++rank) {
    total = operation(total, group.shfl(value, static_cast<int>(rank), site));
  }
  return total;
}
template <class Group, class T, class Operation>
T inclusive_scan(const Group& group, T value, Operation operation, PKB_HOSTCUDA_SITE) {
  for (unsigned delta = 1; delta < group.size(); delta *= 2) {
    const T before = group.shfl_up(value, delta, site);
    if (group.thread_rank() >= delta) value = operation(before, value);
  }
  return value;
}
template <class Group, class T>
T inclusive_scan(const Group& group, T value, PKB_HOSTCUDA_SITE) {
  return inclusive_scan(group, value, plus<T>(), site);
}
template <class Group, class T>
T exclusive_scan(const Group& group, T value, PKB_HOSTCUDA_SITE) {
  return inclusive_scan(group, value, plus<T>(), site) - value;
}

/// Copied at once, each thread a share; visible to the group after wait().
template <class Group>
void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  const size_t size = group.size(), rank = group.thread_rank();
  const size_t first = bytes * rank / size, last = bytes * (rank + 1) / size;
  memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
}
template <class Group>
void wait(const Group& group, PKB_HOSTCUDA_SITE) {
  group.sync(site);
}

}  // namespace cooperative_groups
