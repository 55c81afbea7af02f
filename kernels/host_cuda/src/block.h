// SPDX-License-Identifier: Apache-2.0
//
// A resident block: its threads as fibers, their run queue, the barriers and warp operations they meet at, and the
// shared memory they see. A block stays on one runtime thread, and only one of its fibers runs at a time, so nothing
// here is locked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hostcuda/thread.h"
#include "launch.h"
#include "stack.h"

namespace pkb::hostcuda {

enum class FiberState : std::uint8_t { fresh, started, at_warp, done };

struct Fiber : ThreadContext {
  void* context = nullptr;  ///< where it goes on, while it does not run
  Stack stack;
  Fiber* next = nullptr;  ///< in a queue
  FiberState state = FiberState::fresh;
  // Of a warp operation.
  std::uint64_t operand = 0;
  std::uint64_t result = 0;
  unsigned source = 0;
  unsigned mask = 0;
};

class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  std::uint64_t size() const { return size_; }
  void push(Fiber& fiber);
  Fiber* pop();
  void append(FiberQueue& other);
  void clear() { *this = FiberQueue(); }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
  std::uint64_t size_ = 0;
};

/// A barrier of a given number of threads, at most one generation at a time.
struct Barrier {
  FiberQueue waiting;
  std::uint64_t expected = 0;  ///< of a named barrier
  Site site{};
  Vote vote = Vote::none;
  int count = 0;                 ///< threads whose predicate held
  std::array<int, 2> results{};  ///< of this and the previous generation
  unsigned generation = 0;
};

/// The lanes of one mask on their way to a warp operation.
struct Rendezvous {
  unsigned mask = 0;
  unsigned arrived = 0;
  WarpOperation operation = WarpOperation::sync;
};

/// Lanes of a warp that asked for the active mask at one place.
struct ActiveGroup {
  Site site{};
  std::size_t warp = 0;
  unsigned lanes = 0;
  FiberQueue waiting;
};

struct Warp {
  unsigned alive = 0;
  unsigned waiting = 0;
  std::array<Rendezvous, 32> rendezvous;  ///< by the lowest lane of the mask
};

class Block : public BlockContext {
 public:
  enum class Outcome { finished, stalled, waits_for_grid, failed };

  Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  /// Makes this block `index` of a launch. Stacks come from the pool as threads start and return to it as they end.
  void start(std::shared_ptr<Launch> launch, std::uint64_t index, StackPool& stacks);
  /// Runs threads until all ended, all wait for something outside the block, or the block failed. On the runtime
  /// thread's stack.
  Outcome run();
  /// Drops the launch, and its threads where they stand.
  void reset();
  /// After the grid barrier opened.
  void release_grid();

  Launch& launch() { return *launch_; }
  /// Something happened in the last run besides looking at unchanged memory.
  bool progressed() const { return progressed_; }
  /// A thread was stopped in a loop during the last run: it may wait, or simply work.
  bool ticked() const { return ticked_; }
  const std::string& failure() const { return failure_; }

  // While it waits in the grid barrier.
  bool at_grid_barrier = false;
  std::uint64_t grid_generation = 0;  ///< when it came

  // Called on fibers, by the functions of thread.h.
  void yield_current();
  void end_turn(bool may_work);
  int meet(Vote vote, int predicate, Site site);
  void meet_named(int id, int threads, Site site);
  void meet_grid(Site site);
  std::uint64_t meet_warp(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source, Site site);
  unsigned active_mask(Site site);
  void* shared_memory(int slot, std::size_t bytes, std::size_t alignment);
  [[noreturn]] void fail_current(const std::string& what, Site site);

 private:
  static constexpr std::size_t kArenaBytes = 232 << 10;
  static constexpr int kNamedBarriers = 16;

  Fiber& self() { return static_cast<Fiber&>(*current_thread); }
  Warp& warp_of(const Fiber& fiber) { return warps_[fiber.linear / 32]; }
  Fiber& fiber_of(const Fiber& neighbour, unsigned lane) { return fibers_[neighbour.linear / 32 * 32 + lane]; }

  // Switching.
  [[noreturn]] void run_fibers();
  void switch_to(Fiber& next);
  void suspend();
  [[noreturn]] void leave_for_good(Fiber* next);
  void to_scheduler(Outcome outcome);
  void prepare(Fiber& fiber);
  void finish_current();
  Outcome outcome_without_ready_fibers();
  bool resolve_active_masks();

  // Meeting. The failures are functions of their own, which keeps the frames of waiting threads small.
  [[noreturn, gnu::cold, gnu::noinline]] void fail_divergent(Site site);
  [[noreturn, gnu::cold, gnu::noinline]] void fail_warp(unsigned mask, const Rendezvous& others, Site site);
  int open_barrier(Barrier& barrier, int not_waiting);
  void complete(Warp& warp, Rendezvous& rendezvous, Fiber& any_lane, Fiber* running);
  void compute(Rendezvous& rendezvous, Fiber& any_lane);
  void leave_barriers(Fiber& fiber);
  void note_progress() {
    idle_yields_ = 0;
    progressed_ = true;
  }

  std::string describe(const Fiber& fiber) const;
  std::string describe_deadlock() const;

  std::shared_ptr<Launch> launch_;
  StackPool* stacks_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  FiberQueue ready_;
  Barrier barrier_;
  std::array<Barrier, kNamedBarriers> named_;
  FiberQueue at_grid_;
  std::vector<ActiveGroup> active_;
  Site grid_site_{};
  std::uint64_t alive_ = 0;
  std::uint64_t idle_yields_ = 0;
  bool progressed_ = false;
  bool ticked_ = false;
  void* scheduler_context_ = nullptr;
  Outcome outcome_ = Outcome::finished;
  std::string failure_;

  // Shared memory: one arena, dynamic first.
  char* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::size_t static_bytes_ = 0;
  std::vector<void*> slots_;

  friend void fiber_entry(Block& block);
};

}  // namespace pkb::hostcuda
