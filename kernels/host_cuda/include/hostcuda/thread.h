// SPDX-License-Identifier: Apache-2.0
//
// What runs inside a kernel sees of the runtime: the current thread (a fiber), and the operations threads do together.
// The CUDA spellings (threadIdx, __syncthreads, __shfl_sync, ...) are thin wrappers over these, and so is device.h. No
// CUDA names here.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace pkb::hostcuda {

struct Index {
  unsigned x, y, z;
};

/// What all threads of a block share. The runtime derives its own block from it.
struct BlockContext {
  Index block_index;
  Index block_dim;
  Index grid_dim;
  void* dynamic_shared;  ///< 128-byte aligned
  uint64_t dynamic_shared_bytes;
};

/// One thread of a block. The runtime derives its fiber from it.
struct ThreadContext {
  Index thread_index;
  unsigned linear;  ///< thread_index as one number, x fastest
  BlockContext* block;
  // The last polled load: the same address and value again mean that this thread waits.
  const volatile void* polled_address;
  uint64_t polled_value;

  unsigned lane() const { return linear & 31u; }
};

/// The thread that runs on this OS thread; null outside kernels and stream-ordered work.
extern constinit thread_local ThreadContext* current_thread __attribute__((tls_model("initial-exec")));
/// Loop iterations until other threads get their turn, see tick().
extern constinit thread_local int tick_budget __attribute__((tls_model("initial-exec")));

/// Where a collective operation stands in the source.
struct Site {
  const char* file;
  int line;
};

/// For waiting loops: lets other threads of this process run, then other processes, then sleeps.
void yield();
/// Nanoseconds of a clock that all processes of this machine share.
uint64_t timer_ns();

void end_turn(bool may_work);
/// Stands in every loop that might wait for another thread by plain (volatile) reads, so that no such loop starves the
/// others.
constexpr bool tick() {
  if (!__builtin_is_constant_evaluated()) {
    if (--tick_budget < 0) end_turn(true);
  }
  return false;
}
/// The same in a loop that looks as if it did nothing but wait.
constexpr bool wait_tick() {
  constexpr int kCost = 64;
  if (!__builtin_is_constant_evaluated()) {
    if ((tick_budget -= kCost) < 0) end_turn(false);
  }
  return false;
}

/// Tells the scheduler what a thread read: it yields when nothing changed since its last look at the same address.
inline void note_poll(const volatile void* address, uint64_t value) {
  ThreadContext* const thread = current_thread;
  if (thread == nullptr) return;
  if (thread->polled_address == address && thread->polled_value == value) {
    yield();
  } else {
    thread->polled_address = address;
    thread->polled_value = value;
  }
}

enum class Vote : int { none, count, all, any };
/// __syncthreads and its voting forms.
int block_barrier(Vote vote, int predicate, Site site);
/// A barrier of `threads` threads of the block under a number of its own, as PTX bar.sync id, threads.
void named_barrier(int id, int threads, Site site);
/// All threads of a cooperative launch.
void grid_barrier(Site site);
bool grid_is_cooperative();

enum class WarpOperation : int {
  sync,
  shuffle,
  ballot,
  match_any,
  match_all,
  add,
  minimum_unsigned,
  minimum_signed,
  maximum_unsigned,
  maximum_signed,
  bit_and,
  bit_or,
  bit_xor
};
/// The lanes of `mask` meet and each receives its result. `source` is the lane a shuffle reads.
uint64_t warp_collective(WarpOperation operation, unsigned mask, uint64_t value, unsigned source, Site site);
/// The lanes of this warp that reached the same place at the same time.
unsigned active_mask(Site site);

/// Memory of this block for one __shared__ declaration; `slot` names the declaration (see shared_slot()).
void* shared_memory(int slot, size_t bytes, size_t alignment);
int new_shared_slot();

/// Ends the kernel with a launch failure that says where.
[[noreturn]] void fail(const char* what, Site site);

}  // namespace pkb::hostcuda
