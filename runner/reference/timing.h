// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "reference/alignment.h"
#include "reference/backend.h"
#include "team/team.h"
#include "worker/protocol.h"

namespace pkb {

/// What is timed: call(draw) makes one call of the baseline and drops its outputs; restore(draw) makes the in-place
/// arguments of a draw as they were, and is empty when there are none.
struct TimedCalls {
  std::function<void(int32_t draw)> call;
  std::function<void(int32_t draw)> restore;
};

/// Times calls of the reference under the same rules as the worker times a candidate's. Events on a GPU; on host, where
/// LibTorch works in the calling thread, the steady clock.
class CallTimer {
 public:
  CallTimer(Team& team, Device& device, TorchBackend& backend);  ///< collective
  ~CallTimer();                                                  ///< collective
  CallTimer(const CallTimer&) = delete;
  CallTimer& operator=(const CallTimer&) = delete;

  /// Collective.
  protocol::TimeReply time(const TimedCalls& calls, const protocol::TimeRequest& request);

  bool has_graph() const { return graph_ != nullptr; }
  void drop_graph() { graph_.reset(); }

 private:
  class Marks;
  void meet();
  void start_together(bool align);
  void lead_in(const TimedCalls& calls, const protocol::TimeRequest& request);
  void warm_up(const TimedCalls& calls, const protocol::TimeRequest& request);
  void burst(const TimedCalls& calls, const protocol::TimeRequest& request, protocol::TimeReply& reply);
  void each(const TimedCalls& calls, const protocol::TimeRequest& request, protocol::TimeReply& reply);
  void isolated(const TimedCalls& calls, const protocol::TimeRequest& request, protocol::TimeReply& reply);
  void capture(const TimedCalls& calls, const protocol::TimeRequest& request, protocol::TimeReply& reply);
  void replay(const TimedCalls& calls, const protocol::TimeRequest& request, protocol::TimeReply& reply);
  void end_loop(protocol::Clock::time_point start, protocol::TimeReply& reply);

  Team& team_;
  Device& device_;
  TorchBackend& backend_;
  Alignment alignment_;
  std::unique_ptr<Marks> marks_;
  std::unique_ptr<CapturedCalls> graph_;
};

}  // namespace pkb
