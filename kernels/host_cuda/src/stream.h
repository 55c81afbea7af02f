// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: what is enqueued, in order. Everything here is guarded by the engine's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "launch.h"

// What candidates see as cudaStream_t and cudaEvent_t.
struct CUstream_st {};
struct CUevent_st {};

namespace pkb::hostcuda {

/// A point in a stream: reached or not, when, and who waits for it.
struct Marker {
  bool reached = false;
  std::int64_t nanoseconds = 0;
  std::vector<std::shared_ptr<Stream>> waiting;
};

struct Operation {
  std::shared_ptr<Launch> launch;  ///< this, or a marker to set or to wait for
  std::shared_ptr<Marker> set;
  std::shared_ptr<Marker> wait;
};

class Stream : public CUstream_st {
 public:
  std::deque<Operation> queue;  ///< the front one runs when `running`
  bool running = false;
  bool blocking = false;  ///< in step with the default stream
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;

  bool idle() const { return submitted == completed; }
};

class Event : public CUevent_st {
 public:
  bool timed = true;
  std::shared_ptr<Marker> marker;  ///< of the last record; null before the first
};

}  // namespace pkb::hostcuda
