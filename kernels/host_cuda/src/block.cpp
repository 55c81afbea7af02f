// SPDX-License-Identifier: Apache-2.0
//
// Life and switching of a block's fibers. What they meet at is in meeting.cpp.
#include "block.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pkb::hostcuda {

constinit thread_local ThreadContext* current_thread = nullptr;
constinit thread_local int tick_budget = 0;

// threadIdx and its like, see cuda/launch.h.
extern constinit thread_local Index builtin_thread __asm__("pkb_hostcuda_threadIdx");
extern constinit thread_local Index builtin_block __asm__("pkb_hostcuda_blockIdx");
extern constinit thread_local Index builtin_block_dim __asm__("pkb_hostcuda_blockDim");
extern constinit thread_local Index builtin_grid_dim __asm__("pkb_hostcuda_gridDim");
constinit thread_local Index builtin_thread{};
constinit thread_local Index builtin_block{};
constinit thread_local Index builtin_block_dim{};
constinit thread_local Index builtin_grid_dim{};

namespace {

void make_current(Fiber& fiber) {
  current_thread = &fiber;
  builtin_thread = fiber.thread_index;
}

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr int kTicksPerTurn = 1024;
constexpr int kUninitialised = 0xFF;  // shared memory starts as NaN

// Whoever runs now saves where the other side stopped.
void save_context(transfer_t transfer) {
  *static_cast<void**>(transfer.data) = transfer.fctx;
}

}  // namespace

void FiberQueue::push(Fiber& fiber) {
  fiber.next = nullptr;
  (tail_ == nullptr ? head_ : tail_->next) = &fiber;
  tail_ = &fiber;
  ++size_;
}

Fiber* FiberQueue::pop() {
  Fiber* const first = head_;
  if (first == nullptr) return nullptr;
  head_ = first->next;
  if (head_ == nullptr) tail_ = nullptr;
  --size_;
  return first;
}

void FiberQueue::append(FiberQueue& other) {
  if (other.empty()) return;
  (tail_ == nullptr ? head_ : tail_->next) = other.head_;
  tail_ = other.tail_;
  size_ += other.size_;
  other.clear();
}

Block::Block() : BlockContext{} {
  void* const arena =
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) {
    std::fprintf(stderr, "pkb host device: no memory for a block's shared memory\n");
    std::abort();
  }
  arena_ = static_cast<char*>(arena);
}

Block::~Block() {
  munmap(arena_, kArenaBytes);
}

void Block::start(std::shared_ptr<Launch> launch, std::uint64_t index, StackPool& stacks) {
  launch_ = std::move(launch);
  stacks_ = &stacks;
  const Index grid = launch_->grid;
  block_index = {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index / grid.x % grid.y),
                 static_cast<unsigned>(index / grid.x / grid.y)};
  block_dim = launch_->block;
  grid_dim = grid;

  dynamic_shared = arena_;
  dynamic_shared_bytes = launch_->dynamic_shared_bytes;
  std::memset(arena_, kUninitialised, dynamic_shared_bytes);
  arena_used_ = dynamic_shared_bytes;
  static_bytes_ = 0;
  slots_.clear();

  const std::uint64_t threads = launch_->threads_per_block();
  fibers_.assign(threads, Fiber());
  warps_.assign((threads + 31) / 32, Warp());
  barrier_ = Barrier();
  named_.fill(Barrier());
  ready_.clear();
  at_grid_.clear();
  active_.clear();
  at_grid_barrier = false;
  alive_ = threads;
  failure_.clear();
  unsigned linear = 0;
  for (unsigned z = 0; z < block_dim.z; ++z) {
    for (unsigned y = 0; y < block_dim.y; ++y) {
      for (unsigned x = 0; x < block_dim.x; ++x, ++linear) {
        Fiber& fiber = fibers_[linear];
        fiber.thread_index = {x, y, z};
        fiber.linear = linear;
        fiber.block = this;
        warps_[linear / 32].alive |= 1u << (linear % 32);
        ready_.push(fiber);
      }
    }
  }
}

Block::Outcome Block::run() {
  idle_yields_ = 0;
  progressed_ = false;
  ticked_ = false;
  Fiber* const first = ready_.pop();
  if (first == nullptr) return outcome_without_ready_fibers();
  prepare(*first);
  tick_budget = kTicksPerTurn;
  builtin_block = block_index;
  builtin_block_dim = block_dim;
  builtin_grid_dim = grid_dim;
  make_current(*first);
  save_context(jump_fcontext(first->context, &scheduler_context_));
  current_thread = nullptr;
  return outcome_;
}

void Block::reset() {
  for (Fiber& fiber : fibers_) {
    if (fiber.stack.base != nullptr) stacks_->give(fiber.stack);
    fiber.stack = {};
  }
  ready_.clear();
  launch_.reset();
}

void fiber_entry(Block& block) {
  block.run_fibers();
}

void Block::prepare(Fiber& fiber) {
  if (fiber.state != FiberState::fresh) return;
  fiber.stack = stacks_->take();
  fiber.context = make_fcontext(fiber.stack.top(), fiber.stack.bytes, [](transfer_t transfer) {
    save_context(transfer);
    fiber_entry(static_cast<Block&>(*current_thread->block));
  });
}

// The outermost frame of every fiber stack. A thread that ends hands its stack on to the next that has not started yet,
// so that a kernel without barriers never switches at all.
void Block::run_fibers() {
  for (;;) {
    Fiber& fiber = self();
    fiber.state = FiberState::started;
    note_progress();
    launch_->run(launch_->closure.get());
    finish_current();
    if (ready_.empty()) resolve_active_masks();
    Fiber* const next = ready_.pop();
    if (next == nullptr || next->state != FiberState::fresh) leave_for_good(next);
    next->stack = fiber.stack;
    fiber.stack = {};
    make_current(*next);
  }
}

void Block::finish_current() {
  Fiber& fiber = self();
  if (!fiber.stack.intact()) {
    std::fprintf(stderr, "pkb host device: %s: a thread overflowed its stack of %zu KiB (large local arrays?)\n",
                 describe(fiber).c_str(), fiber.stack.bytes >> 10);
    std::abort();  // the stack of another thread is destroyed
  }
  fiber.state = FiberState::done;
  note_progress();
  --alive_;
  leave_barriers(fiber);
}

void Block::leave_for_good(Fiber* next) {
  Fiber& fiber = self();
  stacks_->give(fiber.stack);  // nobody takes it before the jump
  fiber.stack = {};
  if (next != nullptr) {
    switch_to(*next);
  } else {
    to_scheduler(outcome_without_ready_fibers());
  }
  __builtin_unreachable();
}

void Block::switch_to(Fiber& next) {
  Fiber& fiber = self();
  prepare(next);
  make_current(next);
  save_context(jump_fcontext(next.context, &fiber.context));
}

void Block::to_scheduler(Outcome outcome) {
  Fiber& fiber = self();
  outcome_ = outcome;
  save_context(jump_fcontext(scheduler_context_, &fiber.context));
}

// Runs another thread in place of the current one, which waits in some queue, or here for ever after a failure.
void Block::suspend() {
  if (ready_.empty()) resolve_active_masks();
  Fiber* const next = ready_.pop();
  if (next == nullptr) {
    to_scheduler(outcome_without_ready_fibers());
  } else if (next != &self()) {
    switch_to(*next);
  }
}

Block::Outcome Block::outcome_without_ready_fibers() {
  if (alive_ == 0) return Outcome::finished;
  if (at_grid_.size() == alive_) return Outcome::waits_for_grid;
  failure_ = describe_deadlock();
  return Outcome::failed;
}

void Block::yield_current() {
  ready_.push(self());
  if (++idle_yields_ >= ready_.size() && !resolve_active_masks()) {
    to_scheduler(Outcome::stalled);
  } else {
    switch_to(*ready_.pop());
  }
}

void Block::end_turn(bool may_work) {
  ticked_ |= may_work;
  tick_budget = kTicksPerTurn;
  yield_current();
}

void Block::fail_current(const std::string& what, Site site) {
  failure_ = std::string(site.file) + ":" + std::to_string(site.line) + ": " + what + " [" + describe(self()) + "]";
  to_scheduler(Outcome::failed);
  __builtin_unreachable();
}

std::string Block::describe(const Fiber& fiber) const {
  const auto triple = [](Index i) {
    return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
  };
  return "kernel " + launch_->name + ", block " + triple(block_index) + ", thread " + triple(fiber.thread_index);
}

}  // namespace pkb::hostcuda
