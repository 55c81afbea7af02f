// SPDX-License-Identifier: Apache-2.0
//
// Where the threads of a block meet: barriers, warp operations, the grid barrier, shared memory. And the functions of
// thread.h.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "block.h"
#include "pause.h"

namespace pkb::hostcuda {

namespace {

constexpr std::size_t kStaticSharedLimit = 48 << 10;
constexpr std::size_t kSharedLimit = 227 << 10;

bool same_site(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string text_of(Site site) {
  return std::string(site.file) + ":" + std::to_string(site.line);
}

std::string hex(unsigned mask) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "0x%08x", mask);
  return text.data();
}

Block& current_block() {
  return static_cast<Block&>(*current_thread->block);
}

std::uint64_t reduce(WarpOperation operation, std::uint64_t a, std::uint64_t b) {
  const auto signed_a = static_cast<std::int32_t>(a), signed_b = static_cast<std::int32_t>(b);
  switch (operation) {
    case WarpOperation::add:
      return static_cast<std::uint32_t>(a + b);
    case WarpOperation::minimum_unsigned:
      return std::min(a, b);
    case WarpOperation::maximum_unsigned:
      return std::max(a, b);
    case WarpOperation::minimum_signed:
      return signed_a < signed_b ? a : b;
    case WarpOperation::maximum_signed:
      return signed_a < signed_b ? b : a;
    case WarpOperation::bit_and:
      return a & b;
    case WarpOperation::bit_or:
      return a | b;
    default:
      return a ^ b;
  }
}

}  // namespace

// ---- barriers

int Block::meet(Vote vote, int predicate, Site site) {
  Fiber& fiber = self();
  if (barrier_.waiting.empty()) {
    barrier_.site = site;
    barrier_.vote = vote;
  } else if (!same_site(barrier_.site, site)) {
    fail_divergent(site);
  }
  barrier_.count += predicate != 0;
  if (barrier_.waiting.size() + 1 == alive_) return open_barrier(barrier_, 1);
  const unsigned generation = barrier_.generation;
  barrier_.waiting.push(fiber);
  suspend();
  return barrier_.results[generation & 1];
}

void Block::fail_divergent(Site site) {
  fail_current("divergent barrier: this thread is in __syncthreads here, others of its block wait in the one at " +
                   text_of(barrier_.site),
               site);
}

// Lets all that wait go on, and the last to arrive, which does not wait; returns the result of the vote.
int Block::open_barrier(Barrier& barrier, int not_waiting) {
  const int threads = static_cast<int>(barrier.waiting.size()) + not_waiting;
  int result = barrier.count;
  if (barrier.vote == Vote::all) result = barrier.count == threads;
  if (barrier.vote == Vote::any) result = barrier.count != 0;
  barrier.results[barrier.generation++ & 1] = result;
  barrier.count = 0;
  ready_.append(barrier.waiting);
  note_progress();
  return result;
}

void Block::meet_named(int id, int threads, Site site) {
  if (id < 1 || id >= kNamedBarriers)
    fail_current("named barriers have the numbers 1 to 15, not " + std::to_string(id), site);
  if (threads < 32 || threads % 32 != 0) {
    fail_current("a named barrier takes whole warps, not " + std::to_string(threads) + " threads", site);
  }
  Barrier& barrier = named_[static_cast<std::size_t>(id)];
  Fiber& fiber = self();
  if (barrier.waiting.empty()) {
    barrier.expected = static_cast<std::uint64_t>(threads);
    barrier.site = site;
  } else if (barrier.expected != static_cast<std::uint64_t>(threads)) {
    fail_current("named barrier " + std::to_string(id) + " of " + std::to_string(threads) + " threads here, of " +
                     std::to_string(barrier.expected) + " at " + text_of(barrier.site),
                 site);
  }
  if (barrier.waiting.size() + 1 == barrier.expected) {
    open_barrier(barrier, 1);
    return;
  }
  barrier.waiting.push(fiber);
  suspend();
}

void Block::meet_grid(Site site) {
  if (!launch_->cooperative) fail_current("grid.sync() in a kernel that was not launched cooperatively", site);
  grid_site_ = site;
  at_grid_.push(self());
  note_progress();
  suspend();
}

void Block::release_grid() {
  at_grid_barrier = false;
  ready_.append(at_grid_);
}

// A thread that ended is waited for no longer, as on the hardware.
void Block::leave_barriers(Fiber& fiber) {
  if (!barrier_.waiting.empty() && barrier_.waiting.size() == alive_) open_barrier(barrier_, 0);
  Warp& warp = warp_of(fiber);
  warp.alive &= ~(1u << fiber.lane());
  if (warp.waiting == 0) return;
  for (Rendezvous& rendezvous : warp.rendezvous) {
    if (rendezvous.arrived != 0 && rendezvous.arrived == (rendezvous.mask & warp.alive)) {
      complete(warp, rendezvous, fiber, nullptr);
    }
  }
}

// ---- warps

std::uint64_t Block::meet_warp(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source,
                               Site site) {
  Fiber& fiber = self();
  Warp& warp = warp_of(fiber);
  const unsigned bit = 1u << fiber.lane();
  if ((mask & bit) == 0) fail_warp(mask, Rendezvous{}, site);
  fiber.operand = value;
  fiber.source = source;
  fiber.mask = mask;
  Rendezvous& rendezvous = warp.rendezvous[static_cast<std::size_t>(std::countr_zero(mask))];
  if (rendezvous.arrived == 0) {
    rendezvous.mask = mask;
    rendezvous.operation = operation;
  } else if (rendezvous.mask != mask || rendezvous.operation != operation) {
    fail_warp(mask, rendezvous, site);
  }
  rendezvous.arrived |= bit;
  ++warp.waiting;
  if (rendezvous.arrived == (mask & warp.alive)) {
    complete(warp, rendezvous, fiber, &fiber);
  } else {
    fiber.state = FiberState::at_warp;
    suspend();
  }
  return fiber.result;
}

void Block::fail_warp(unsigned mask, const Rendezvous& others, Site site) {
  if (others.arrived == 0) {
    fail_current("warp operation with mask " + hex(mask) + " called by lane " + std::to_string(self().lane()) +
                     ", which is not in it",
                 site);
  }
  if (others.mask == mask) fail_current("the lanes of mask " + hex(mask) + " are in different warp operations", site);
  fail_current("mask mismatch: warp operation with mask " + hex(mask) + " here, lanes " + hex(others.arrived) +
                   " of this warp wait in one with mask " + hex(others.mask),
               site);
}

void Block::complete(Warp& warp, Rendezvous& rendezvous, Fiber& any_lane, Fiber* running) {
  compute(rendezvous, any_lane);
  for (unsigned left = rendezvous.arrived; left != 0; left &= left - 1) {
    Fiber& lane = fiber_of(any_lane, static_cast<unsigned>(std::countr_zero(left)));
    if (&lane == running) continue;
    lane.state = FiberState::started;
    ready_.push(lane);
  }
  warp.waiting -= static_cast<unsigned>(std::popcount(rendezvous.arrived));
  rendezvous.arrived = 0;
  note_progress();
}

// Gives every lane its result at once: a lane that goes on early may already be in the next operation.
void Block::compute(Rendezvous& rendezvous, Fiber& any_lane) {
  const unsigned lanes = rendezvous.arrived;
  const auto lane = [&](unsigned left) -> Fiber& {
    return fiber_of(any_lane, static_cast<unsigned>(std::countr_zero(left)));
  };
  const auto each = [&](auto&& result_of) {
    for (unsigned left = lanes; left != 0; left &= left - 1) {
      Fiber& fiber = lane(left);
      fiber.result = result_of(fiber);
    }
  };
  switch (rendezvous.operation) {
    case WarpOperation::sync:
      return;
    case WarpOperation::shuffle:
      // What a lane outside the mask holds is undefined: NaN shows when it is used.
      return each([&](const Fiber& fiber) {
        return (lanes >> fiber.source & 1) != 0 ? fiber_of(fiber, fiber.source).operand
                                                : std::numeric_limits<std::uint64_t>::max();
      });
    case WarpOperation::ballot: {
      unsigned votes = 0;
      for (unsigned left = lanes; left != 0; left &= left - 1) {
        if (lane(left).operand != 0) votes |= left & -left;
      }
      return each([&](const Fiber&) { return votes; });
    }
    case WarpOperation::match_any:
      return each([&](const Fiber& fiber) {
        unsigned equal = 0;
        for (unsigned left = lanes; left != 0; left &= left - 1) {
          if (lane(left).operand == fiber.operand) equal |= left & -left;
        }
        return equal;
      });
    case WarpOperation::match_all: {
      bool equal = true;
      for (unsigned left = lanes; left != 0; left &= left - 1) equal &= lane(left).operand == lane(lanes).operand;
      return each([&](const Fiber&) { return equal ? lanes : 0; });
    }
    default: {
      std::uint64_t total = lane(lanes).operand;
      for (unsigned left = lanes & (lanes - 1); left != 0; left &= left - 1) {
        total = reduce(rendezvous.operation, total, lane(left).operand);
      }
      return each([&](const Fiber&) { return total; });
    }
  }
}

// Fibers do not run in step. "Converged" is taken to be: every lane that comes to this place before it has to wait for
// another.
unsigned Block::active_mask(Site site) {
  Fiber& fiber = self();
  const std::size_t warp = fiber.linear / 32;
  auto group = std::find_if(active_.begin(), active_.end(),
                            [&](const ActiveGroup& one) { return one.warp == warp && same_site(one.site, site); });
  if (group == active_.end()) group = active_.insert(group, ActiveGroup{site, warp, 0, {}});
  group->lanes |= 1u << fiber.lane();
  group->waiting.push(fiber);
  suspend();
  return static_cast<unsigned>(fiber.result);
}

// Called when no other thread of the block can go on. True when some now can.
bool Block::resolve_active_masks() {
  if (active_.empty()) return false;
  for (ActiveGroup& group : active_) {
    while (Fiber* const fiber = group.waiting.pop()) {
      fiber->result = group.lanes;
      ready_.push(*fiber);
    }
  }
  active_.clear();
  note_progress();
  return true;
}

// ---- shared memory

void* Block::shared_memory(int slot, std::size_t bytes, std::size_t alignment) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= slots_.size()) slots_.resize(index + 1);
  if (slots_[index] == nullptr) {
    const std::size_t at = (arena_used_ + alignment - 1) / alignment * alignment;
    static_bytes_ += bytes;
    if (static_bytes_ > kStaticSharedLimit || at + bytes > kSharedLimit) {
      fail_current("too much shared memory: " + std::to_string(static_bytes_) + " bytes static (limit 49152), " +
                       std::to_string(dynamic_shared_bytes) + " dynamic (limit of both 232448)",
                   {"__shared__", 0});
    }
    arena_used_ = at + bytes;
    slots_[index] = arena_ + at;
    std::memset(slots_[index], 0xFF, bytes);
  }
  return slots_[index];
}

// ---- what to say when nobody can go on

std::string Block::describe_deadlock() const {
  std::uint64_t at_warp = 0;
  const Fiber* example = nullptr;
  for (const Fiber& fiber : fibers_) {
    if (fiber.state != FiberState::at_warp) continue;
    ++at_warp;
    if (example == nullptr) example = &fiber;
  }
  std::string text = "threads of a block wait for each other for ever:";
  if (!barrier_.waiting.empty()) {
    text += " " + std::to_string(barrier_.waiting.size()) + " of " + std::to_string(alive_) + " in __syncthreads at " +
            text_of(barrier_.site) + ";";
  }
  for (std::size_t id = 0; id < named_.size(); ++id) {
    if (named_[id].waiting.empty()) continue;
    text += " " + std::to_string(named_[id].waiting.size()) + " of " + std::to_string(named_[id].expected) +
            " in named barrier " + std::to_string(id) + " at " + text_of(named_[id].site) + ";";
  }
  if (!at_grid_.empty())
    text += " " + std::to_string(at_grid_.size()) + " in grid.sync() at " + text_of(grid_site_) + ";";
  if (example != nullptr) {
    text += " " + std::to_string(at_warp) + " in a warp operation, the first with mask " + hex(example->mask) + ";";
  }
  if (example == nullptr) example = &fibers_.front();
  return text + " a barrier in divergent code, or a mask that names lanes which do not come [" + describe(*example) +
         "]";
}

// ---- thread.h

void yield() {
  if (current_thread != nullptr) {
    current_block().yield_current();
  } else {
    pause_host_thread();
  }
}

void end_turn(bool may_work) {
  if (current_thread != nullptr) {
    current_block().end_turn(may_work);
  } else {
    tick_budget = std::numeric_limits<int>::max();
  }
}

int block_barrier(Vote vote, int predicate, Site site) {
  return current_block().meet(vote, predicate, site);
}
void named_barrier(int id, int threads, Site site) {
  current_block().meet_named(id, threads, site);
}
void grid_barrier(Site site) {
  current_block().meet_grid(site);
}
bool grid_is_cooperative() {
  return current_block().launch().cooperative;
}

std::uint64_t warp_collective(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source, Site site) {
  return current_block().meet_warp(operation, mask, value, source, site);
}

unsigned active_mask(Site site) {
  return current_block().active_mask(site);
}

void* shared_memory(int slot, std::size_t bytes, std::size_t alignment) {
  return current_block().shared_memory(slot, bytes, alignment);
}

int new_shared_slot() {
  static std::atomic<int> next{0};
  return next++;
}

void fail(const char* what, Site site) {
  current_block().fail_current(what, site);
}

}  // namespace pkb::hostcuda
