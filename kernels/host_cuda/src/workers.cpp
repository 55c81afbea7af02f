// SPDX-License-Identifier: Apache-2.0
//
// The runtime threads. Each holds some resident blocks and runs them in turn. It begins a new block only when those it
// holds have ended or wait: a kernel whose blocks do not wait needs the memory of one block a thread, whatever its
// grid.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "block.h"
#include "engine.h"

namespace pkb::hostcuda {

namespace {

constexpr std::size_t kThreadStackBytes = 128 << 10;
constexpr std::size_t kHostWorkStackBytes = 1 << 20;

int available_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Several worker processes share a machine, so few threads each. PKB_HOST_THREADS sets another number.
int thread_count() {
  if (const char* const text = std::getenv("PKB_HOST_THREADS")) return std::clamp(std::atoi(text), 1, 256);
  return std::min(available_cores(), 2);
}

// Signals are for the threads of the program; faults of a kernel still end the process.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct Engine::Worker {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Block>> spare;
  StackPool thread_stacks{kThreadStackBytes};
  StackPool host_work_stacks{kHostWorkStackBytes};
  unsigned idle_rounds = 0;
};

Engine::Engine() : default_stream_(std::make_shared<Stream>()) {
  const int threads = thread_count();
  for (int i = 0; i < threads; ++i) std::thread([this] { work(); }).detach();
}

void Engine::work() {
  block_signals();
  pthread_setname_np(pthread_self(), "pkb-host-device");
  prctl(PR_SET_TIMERSLACK, 1000);  // short sleeps that are short
  Worker worker;
  for (;;) {
    bool progressed = false, ticked = false;
    for (std::size_t i = 0; i < worker.blocks.size();) {
      const std::size_t before = worker.blocks.size();
      progressed |= run_block(worker, i, ticked);
      if (worker.blocks.size() == before) ++i;
    }
    while (take_block(worker)) progressed |= run_block(worker, worker.blocks.size() - 1, ticked);
    if (progressed) {
      worker.idle_rounds = 0;
    } else {
      rest(worker, ticked);
    }
  }
}

/// True when something happened. The block is gone from the worker when it has ended.
bool Engine::run_block(Worker& worker, std::size_t index, bool& ticked) {
  Block& block = *worker.blocks[index];
  Launch& launch = block.launch();
  if (!launch.aborted.load(std::memory_order_relaxed)) {
    if (block.at_grid_barrier) {
      if (launch.grid_generation.load(std::memory_order_acquire) == block.grid_generation) return false;
      block.release_grid();
    }
    switch (block.run()) {
      case Block::Outcome::stalled:
        ticked |= block.ticked();
        return block.progressed();
      case Block::Outcome::waits_for_grid:
        wait_for_grid(block);
        return true;
      case Block::Outcome::failed: {
        const std::lock_guard guard(lock_);
        abort(launch, block.failure());
        break;
      }
      case Block::Outcome::finished:
        break;
    }
  }
  retire(worker, index);
  return true;
}

void Engine::wait_for_grid(Block& block) {
  Launch& launch = block.launch();
  block.at_grid_barrier = true;
  block.grid_generation = launch.grid_generation.load(std::memory_order_acquire);
  if (launch.grid_waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == launch.blocks) {
    launch.grid_waiting.store(0, std::memory_order_relaxed);
    launch.grid_generation.fetch_add(1, std::memory_order_acq_rel);
    work_.notify_all();
  } else {
    const std::lock_guard guard(lock_);
    check_grid(launch);
  }
}

void Engine::retire(Worker& worker, std::size_t index) {
  std::unique_ptr<Block> block = std::move(worker.blocks[index]);
  worker.blocks[index] = std::move(worker.blocks.back());
  worker.blocks.pop_back();
  Launch& launch = block->launch();
  std::shared_ptr<void> closure;
  {
    const std::lock_guard guard(lock_);
    --launch.resident;
    ++launch.finished;
    check_grid(launch);
    if (launch.finished == launch.blocks) closure = std::move(launch.closure);
  }
  if (closure != nullptr) {
    // Its code may be unloaded as soon as the launch counts as complete.
    closure.reset();
    const std::lock_guard guard(lock_);
    complete(launch);
  }
  block->reset();
  worker.spare.push_back(std::move(block));
}

bool Engine::take_block(Worker& worker) {
  std::shared_ptr<Launch> launch;
  std::uint64_t index = 0;
  {
    const std::lock_guard guard(lock_);
    Launch* const source = launch_to_take_from();
    if (source == nullptr) return false;
    const auto entry = std::find_if(ready_.begin(), ready_.end(), [&](const auto& one) { return one.get() == source; });
    launch = *entry;
    index = launch->next++;
    ++launch->resident;
    if (launch->next == launch->blocks) ready_.erase(entry);
  }
  if (worker.spare.empty()) worker.spare.push_back(std::make_unique<Block>());
  worker.blocks.push_back(std::move(worker.spare.back()));
  worker.spare.pop_back();
  StackPool& stacks = launch->host_work ? worker.host_work_stacks : worker.thread_stacks;
  worker.blocks.back()->start(std::move(launch), index, stacks);
  return true;
}

Launch* Engine::launch_to_take_from() const {
  for (const auto& launch : ready_) {
    if (launch->resident < launch->resident_limit) return launch.get();
  }
  return nullptr;
}

// Nothing moved. Sleeps, longer and longer: giving the core away by sched_yield costs whole time slices where other
// programs compute, while a thread that wakes from a sleep runs soon. A thread stopped in a loop may simply work, so
// rounds with such threads are given more patience and shorter sleeps.
void Engine::rest(Worker& worker, bool ticked) {
  using std::chrono::microseconds;
  std::unique_lock guard(lock_);
  if (launch_to_take_from() != nullptr) return;
  if (worker.blocks.empty()) {
    work_.wait(guard, [&] { return launch_to_take_from() != nullptr; });
    return;
  }
  const unsigned patience = ticked ? 64 : 1, most_doublings = ticked ? 3 : 6;
  const unsigned round = worker.idle_rounds++;
  if (round < patience) return;
  work_.wait_for(guard, microseconds(8u << std::min((round - patience) / 4, most_doublings)));
}

// ---- with the lock held

void Engine::abort(Launch& launch, const std::string& why) {
  if (launch.aborted.exchange(true)) return;
  std::fprintf(stderr, "pkb host device: %s\n", why.c_str());
  if (failure_.empty()) failure_ = why;
  std::erase_if(ready_, [&](const auto& one) { return one.get() == &launch; });
  launch.finished += launch.blocks - launch.next;
  launch.next = launch.blocks;
  work_.notify_all();
}

// Blocks that ended will never come to the grid barrier the others wait at.
void Engine::check_grid(Launch& launch) {
  const std::uint64_t waiting = launch.grid_waiting.load();
  if (launch.finished == 0 || waiting == 0 || waiting + launch.finished != launch.blocks) return;
  abort(launch, std::to_string(waiting) + " of " + std::to_string(launch.blocks) +
                    " blocks wait in grid.sync(), the others have ended [kernel " + launch.name + "]");
}

void Engine::complete(Launch& launch) {
  const std::shared_ptr<Stream> stream = launch.stream;
  stream->running = false;
  complete_front(*stream);
  advance(stream);
}

}  // namespace pkb::hostcuda
