// SPDX-License-Identifier: Apache-2.0
//
// One piece of stream-ordered work that runs on fibers: a kernel launch, or a host function as a block of one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "hostcuda/thread.h"

namespace pkb::hostcuda {

class Stream;

struct Launch {
  std::string name;
  Index grid{1, 1, 1};
  Index block{1, 1, 1};
  std::uint64_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool host_work = false;  ///< not a kernel: one thread with a large stack

  void (*run)(const void* closure) = nullptr;  ///< by every thread
  std::shared_ptr<void> closure;

  // The engine's book-keeping, under its lock.
  std::shared_ptr<Stream> stream;
  std::uint64_t blocks = 1;
  std::uint64_t resident_limit = 1;
  std::uint64_t next = 0;  ///< first block not yet handed to a runtime thread
  std::uint64_t resident = 0;
  std::uint64_t finished = 0;

  std::atomic<bool> aborted{false};
  // The grid barrier: blocks that wait, and how often it opened.
  std::atomic<std::uint64_t> grid_waiting{0};
  std::atomic<std::uint64_t> grid_generation{0};

  std::uint64_t threads_per_block() const { return std::uint64_t{block.x} * block.y * block.z; }
};

}  // namespace pkb::hostcuda
