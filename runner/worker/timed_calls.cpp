// SPDX-License-Identifier: Apache-2.0
#include "worker/timed_calls.h"

#include <filesystem>
#include <iterator>
#include <numeric>

#include "worker/failure.h"

namespace pkb {
namespace {

using protocol::Clock;
using protocol::TimeReply;
using protocol::TimeRequest;

int thread_count() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

auto call_of(std::size_t index, std::size_t count) {
  return [index, count] { return " (timed call " + std::to_string(index + 1) + " of " + std::to_string(count) + ")"; };
}

}  // namespace

TimedCalls::~TimedCalls() {
  drop_graph();
  for (const Event event : events_) device_.destroy(event);
}

TimeReply TimedCalls::perform(const TimeRequest& request, void* state, const Calls& calls, const Calls& lead_in) {
  TimeReply reply;
  device_.synchronize();
  device_.reset_persisting_l2();
  reply.threads_before = thread_count();
  switch (request.mode) {
    case TimeRequest::Mode::warm_up:
      warm_up(state, calls);
      break;
    case TimeRequest::Mode::burst:
      burst(state, calls, lead_in, request.align, reply);
      break;
    case TimeRequest::Mode::each:
      each(state, calls, lead_in, request.align, reply);
      break;
    case TimeRequest::Mode::isolated:
      isolated(state, calls, request.align, reply);
      break;
    case TimeRequest::Mode::graph:
      graph(state, calls, request.align, reply);
      break;
    case TimeRequest::Mode::replay:
      replay(state, lead_in, request.align, reply);
      break;
  }
  // The end event is done: whatever the device still works on was put elsewhere than on the stream.
  const Clock::time_point done = Clock::now();
  device_.synchronize();
  reply.tail_us = microseconds_since(done);
  reply.threads_after = thread_count();
  aligner_.check();
  return reply;
}

void TimedCalls::warm_up(void* state, const Calls& calls) {
  run_all(state, calls);
  device_.synchronize(stream_);
}

void TimedCalls::burst(void* state, const Calls& calls, const Calls& lead_in, bool align, TimeReply& reply) {
  const std::vector<Event>& marks = events(2);
  align_and_wait(align);
  run_all(state, lead_in);
  const Clock::time_point start = Clock::now();
  device_.record(marks[0], stream_);
  run_all(state, calls);
  device_.record(marks[1], stream_);
  device_.synchronize(stream_);
  reply.wall_us = microseconds_since(start);
  reply.event_us = device_.elapsed_us(marks[0], marks[1]);
}

void TimedCalls::each(void* state, const Calls& calls, const Calls& lead_in, bool align, TimeReply& reply) {
  const std::vector<Event>& marks = events(calls.size() + 1);
  align_and_wait(align);
  run_all(state, lead_in);
  const Clock::time_point start = Clock::now();
  device_.record(marks[0], stream_);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    candidate_.run(state, calls[i], stream_.native, call_of(i, calls.size()));
    device_.record(marks[i + 1], stream_);
  }
  device_.synchronize(stream_);
  reply.wall_us = microseconds_since(start);
  for (std::size_t i = 0; i < calls.size(); ++i) reply.call_us.push_back(device_.elapsed_us(marks[i], marks[i + 1]));
  reply.event_us = device_.elapsed_us(marks[0], marks[calls.size()]);
}

/// The barrier is not waited for: while the streams flush and meet, the call is enqueued behind them.
void TimedCalls::isolated(void* state, const Calls& calls, bool align, TimeReply& reply) {
  const std::vector<Event>& marks = events(2);
  if (align) aligner_.meet();
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    device_.flush_l2(stream_);
    if (align) aligner_.enqueue(stream_);
    device_.record(marks[0], stream_);
    candidate_.run(state, calls[i], stream_.native, call_of(i, calls.size()));
    device_.record(marks[1], stream_);
    device_.synchronize(stream_);
    reply.call_us.push_back(device_.elapsed_us(marks[0], marks[1]));
  }
  reply.wall_us = microseconds_since(start);
  reply.event_us = std::accumulate(reply.call_us.begin(), reply.call_us.end(), 0.0);
}

void TimedCalls::graph(void* state, const Calls& calls, bool align, TimeReply& reply) {
  drop_graph();
  std::string why_not;
  graph_ = capture(state, calls, why_not);
  // The calls of all ranks belong together: one that was not captured would be waited for in vain.
  reply.not_captured = aligner_.any_reason(why_not);
  if (!reply.not_captured.empty()) {
    drop_graph();
    return;
  }
  align_and_wait(align);
  device_.launch(*graph_, stream_);  // uploads it
  device_.synchronize(stream_);
}

/// The device is kept busy until the graph is enqueued: no launch belongs to this time.
void TimedCalls::replay(void* state, const Calls& lead_in, bool align, TimeReply& reply) {
  if (!graph_) throw Failure("harness_error", "there is no graph to replay");
  const std::vector<Event>& marks = events(2);
  if (align) aligner_.meet();
  device_.spin(protocol::kReplayHeadStartNs, stream_);
  if (align) aligner_.enqueue(stream_);
  run_all(state, lead_in);
  device_.record(marks[0], stream_);
  device_.launch(*graph_, stream_);
  device_.record(marks[1], stream_);
  device_.synchronize(marks[0]);
  const Clock::time_point start = Clock::now();
  device_.synchronize(stream_);
  reply.wall_us = microseconds_since(start);
  reply.event_us = device_.elapsed_us(marks[0], marks[1]);
}

void TimedCalls::drop_graph() {
  if (graph_) device_.destroy(*graph_);
  graph_.reset();
}

/// What cannot be captured is no error: the reason takes the place of a time.
std::optional<Graph> TimedCalls::capture(void* state, const Calls& calls, std::string& why_not) {
  why_not = device_.why_no_graphs();
  if (!why_not.empty()) return std::nullopt;
  bool capturing = false;
  try {
    device_.begin_capture(stream_);
    capturing = true;
    run_all(state, calls);
    capturing = false;
    const Graph graph = device_.end_capture(stream_);
    why_not = candidate_.take_error();
    if (why_not.empty()) return graph;
    device_.destroy(graph);
  } catch (const std::exception& error) {
    why_not = error.what();
    if (capturing) device_.abandon_capture(stream_);
    const std::string own_error = candidate_.take_error();
    if (!own_error.empty()) why_not += ": " + own_error;
    device_.take_error();
  }
  return std::nullopt;
}

void TimedCalls::run_all(void* state, const Calls& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    candidate_.run(state, calls[i], stream_.native, call_of(i, calls.size()));
  }
}

/// Waits until the streams have met, so that no call is enqueued while they still wait: launch overhead belongs to
/// these times.
void TimedCalls::align_and_wait(bool align) {
  if (!align) return;
  aligner_.meet();
  aligner_.enqueue(stream_);
  device_.synchronize(stream_);
}

const std::vector<Event>& TimedCalls::events(std::size_t count) {
  while (events_.size() < count) events_.push_back(device_.create_event());
  return events_;
}

}  // namespace pkb
