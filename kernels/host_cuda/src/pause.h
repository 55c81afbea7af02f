// SPDX-License-Identifier: Apache-2.0
//
// How a waiting OS thread passes its time.
#pragma once

#include <sched.h>
#include <time.h>

namespace pkb::hostcuda {

/// For a host thread that polls: mostly another process's turn, now and then a short sleep, so that polling never fills a core.
inline void pause_host_thread() {
  constexpr unsigned kSleepEvery = 16;
  constexpr timespec kNap{0, 20'000};
  static constinit thread_local unsigned calls = 0;
  if (++calls % kSleepEvery == 0) {
    nanosleep(&kNap, nullptr);
  } else {
    sched_yield();
  }
}

}  // namespace pkb::hostcuda
