// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "worker/aligner.h"
#include "worker/candidate_module.h"
#include "worker/protocol.h"

namespace pkb {

/// The timed loops over a candidate. Between two marks of a loop there is nothing but calls of pkb_run.
class TimedCalls {
 public:
  using Calls = std::vector<const pkb_arguments*>;

  TimedCalls(Device& device, Stream stream, const CandidateModule& candidate, Aligner& aligner)
      : device_(device), stream_(stream), candidate_(candidate), aligner_(aligner) {}
  ~TimedCalls();
  TimedCalls(const TimedCalls&) = delete;
  TimedCalls& operator=(const TimedCalls&) = delete;

  /// Throws Failure or Error when a call or the device fails. A graph is kept for replays until the next one.
  protocol::TimeReply perform(const protocol::TimeRequest& request, void* state, const Calls& calls,
                              const Calls& lead_in);
  void drop_graph();

 private:
  void warm_up(void* state, const Calls& calls);
  void burst(void* state, const Calls& calls, const Calls& lead_in, bool align, protocol::TimeReply& reply);
  void each(void* state, const Calls& calls, const Calls& lead_in, bool align, protocol::TimeReply& reply);
  void isolated(void* state, const Calls& calls, bool align, protocol::TimeReply& reply);
  void graph(void* state, const Calls& calls, bool align, protocol::TimeReply& reply);
  void replay(void* state, const Calls& lead_in, bool align, protocol::TimeReply& reply);

  std::optional<Graph> capture(void* state, const Calls& calls, std::string& why_not);
  void run_all(void* state, const Calls& calls);
  void align_and_wait(bool align);
  const std::vector<Event>& events(std::size_t count);

  Device& device_;
  Stream stream_;
  const CandidateModule& candidate_;
  Aligner& aligner_;
  std::vector<Event> events_;
  std::optional<Graph> graph_;
};

}  // namespace pkb
