// SPDX-License-Identifier: Apache-2.0
#include "reference/timing.h"

#include <chrono>
#include <utility>

#include "core/error.h"

namespace pkb {
namespace {

using protocol::Clock;
using protocol::TimeReply;
using protocol::TimeRequest;
using Mode = TimeRequest::Mode;

// Calls on the capturing stream before a capture: they make what the first call on a stream makes.
constexpr std::size_t kCallsBeforeCapture = 3;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace

/// Points in time on the stream.
class CallTimer::Marks {
 public:
  Marks(Device& device, Stream stream)
      : device_(device), stream_(stream), on_host_(device.kind() == DeviceKind::host) {}
  ~Marks() {
    for (const Event event : events_) device_.destroy(event);
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  /// Outside the timed span: marks are made beforehand.
  void reserve(std::size_t count) {
    if (on_host_) times_.resize(std::max(times_.size(), count));
    while (!on_host_ && events_.size() < count) events_.push_back(device_.create_event());
  }
  void set(std::size_t mark) {
    if (on_host_) {
      times_[mark] = Clock::now();
    } else {
      device_.record(events_[mark], stream_);
    }
  }
  void wait_for(std::size_t mark) {
    if (!on_host_) device_.synchronize(events_[mark]);
  }
  /// After a synchronisation.
  double between_us(std::size_t first, std::size_t last) {
    return on_host_ ? microseconds(times_[last] - times_[first]) : device_.elapsed_us(events_[first], events_[last]);
  }

 private:
  Device& device_;
  Stream stream_;
  bool on_host_;
  std::vector<Event> events_;
  std::vector<Clock::time_point> times_;
};

CallTimer::CallTimer(Team& team, Device& device, TorchBackend& backend)
    : team_(team),
      device_(device),
      backend_(backend),
      alignment_(team, device, backend.stream()),
      marks_(std::make_unique<Marks>(device, backend.stream())) {}

CallTimer::~CallTimer() = default;

TimeReply CallTimer::time(const TimedCalls& calls, const TimeRequest& request) {
  TimeReply reply;
  switch (request.mode) {
    case Mode::warm_up:
      warm_up(calls, request);
      break;
    case Mode::burst:
      burst(calls, request, reply);
      break;
    case Mode::each:
      each(calls, request, reply);
      break;
    case Mode::isolated:
      isolated(calls, request, reply);
      break;
    case Mode::graph:
      capture(calls, request, reply);
      break;
    case Mode::replay:
      replay(calls, request, reply);
      break;
  }
  alignment_.check();
  return reply;
}

/// The host brings the ranks near to each other, so that the barrier on the device has little to wait for.
void CallTimer::meet() {
  device_.synchronize();
  team_.barrier();
}

/// The barrier is waited for, as in the worker, so that no call is enqueued behind it: launch overhead belongs to these
/// times.
void CallTimer::start_together(bool align) {
  meet();
  if (!align) return;
  alignment_.enqueue();
  device_.synchronize(backend_.stream());
}

void CallTimer::lead_in(const TimedCalls& calls, const TimeRequest& request) {
  for (const int32_t draw : request.lead_in) calls.call(draw);
}

void CallTimer::end_loop(Clock::time_point start, TimeReply& reply) {
  device_.synchronize(backend_.stream());
  const Clock::time_point done = Clock::now();
  device_.synchronize();
  reply.wall_us = microseconds(done - start);
  reply.tail_us = microseconds(Clock::now() - done);
}

void CallTimer::warm_up(const TimedCalls& calls, const TimeRequest& request) {
  start_together(request.align);
  for (const int32_t draw : request.draws) calls.call(draw);
  device_.synchronize(backend_.stream());
}

void CallTimer::burst(const TimedCalls& calls, const TimeRequest& request, TimeReply& reply) {
  marks_->reserve(2);
  start_together(request.align);
  lead_in(calls, request);
  const Clock::time_point start = Clock::now();
  marks_->set(0);
  for (const int32_t draw : request.draws) calls.call(draw);
  marks_->set(1);
  end_loop(start, reply);
  reply.event_us = marks_->between_us(0, 1);
}

void CallTimer::each(const TimedCalls& calls, const TimeRequest& request, TimeReply& reply) {
  const std::size_t count = request.draws.size();
  marks_->reserve(count + 1);
  start_together(request.align);
  lead_in(calls, request);
  const Clock::time_point start = Clock::now();
  marks_->set(0);
  for (std::size_t i = 0; i < count; ++i) {
    calls.call(request.draws[i]);
    marks_->set(i + 1);
  }
  end_loop(start, reply);
  for (std::size_t i = 0; i < count; ++i) reply.call_us.push_back(marks_->between_us(i, i + 1));
  reply.event_us = marks_->between_us(0, count);
}

void CallTimer::isolated(const TimedCalls& calls, const TimeRequest& request, TimeReply& reply) {
  marks_->reserve(2);
  const Stream stream = backend_.stream();
  const Clock::time_point start = Clock::now();
  for (const int32_t draw : request.draws) {
    if (calls.restore) calls.restore(draw);
    device_.flush_l2(stream);
    if (device_.kind() == DeviceKind::host) device_.synchronize(stream);
    if (request.align) alignment_.enqueue();
    marks_->set(0);
    calls.call(draw);
    marks_->set(1);
    device_.synchronize(stream);
    reply.call_us.push_back(marks_->between_us(0, 1));
    reply.event_us += reply.call_us.back();
  }
  end_loop(start, reply);
}

void CallTimer::capture(const TimedCalls& calls, const TimeRequest& request, TimeReply& reply) {
  graph_.reset();
  reply.not_captured = device_.why_no_graphs();
  if (!reply.not_captured.empty()) return;

  for (std::size_t i = 0; i < std::min(kCallsBeforeCapture, request.draws.size()); ++i) calls.call(request.draws[i]);
  device_.synchronize(backend_.stream());
  team_.barrier();
  auto graph = backend_.capture(
      [&] {
        for (const int32_t draw : request.draws) calls.call(draw);
      },
      reply.not_captured);
  // A replay communicates: it needs every rank's graph.
  if (!team_.all(graph != nullptr)) {
    if (reply.not_captured.empty()) reply.not_captured = "cannot be captured on another rank";
    return;
  }
  graph_ = std::move(graph);
  start_together(request.align);
  graph_->replay();
  device_.synchronize(backend_.stream());
}

/// As the worker's replay.
void CallTimer::replay(const TimedCalls& calls, const TimeRequest& request, TimeReply& reply) {
  if (!graph_) throw Error("a replay of the reference was asked for, but no graph of these slots is kept");
  marks_->reserve(2);
  meet();
  device_.spin(protocol::kReplayHeadStartNs, backend_.stream());
  if (request.align) alignment_.enqueue();
  lead_in(calls, request);
  marks_->set(0);
  graph_->replay();
  marks_->set(1);
  marks_->wait_for(0);
  end_loop(Clock::now(), reply);
  reply.event_us = marks_->between_us(0, 1);
}

}  // namespace pkb
