// SPDX-License-Identifier: Apache-2.0
//
// How a waiting OS thread passes its time.
#pragma once

#include <time.h>

namespace pkb::hostcuda {

/// For a host thread that polls: mostly nothing, now and then a short sleep, so that polling never fills a core.
inline void pause_host_thread() {
  constexpr unsigned kSleepEvery = 8;
  constexpr timespec kNap{0, 20'000};
  static constinit thread_local unsigned calls = 0;
  if (++calls % kSleepEvery == 0) nanosleep(&kNap, nullptr);
}

}  // namespace pkb::hostcuda
