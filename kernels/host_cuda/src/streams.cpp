// SPDX-License-Identifier: Apache-2.0
//
// The engine as host threads see it: handles, enqueueing, waiting.
#include <time.h>

#include <algorithm>
#include <utility>

#include "engine.h"

namespace pkb::hostcuda {

namespace {

std::int64_t now() {
  return static_cast<std::int64_t>(timer_ns());
}

// cudaStreamLegacy and cudaStreamPerThread.
bool names_default_stream(void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle) <= 2;
}

template <class Handles>
auto find(const Handles& handles, void* handle) {
  const auto found = handles.find(handle);
  return found == handles.end() ? nullptr : found->second;
}

}  // namespace

std::uint64_t timer_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(time.tv_nsec);
}

Engine& Engine::instance() {
  // Never destroyed: runtime threads may still wait when the process ends.
  static Engine& engine = *new Engine;
  return engine;
}

int Engine::blocks_per_sm(std::uint64_t threads, std::uint64_t dynamic_shared_bytes) const {
  constexpr std::uint64_t kWarps = 64, kBlocks = 32, kReserved = 1024;
  const std::uint64_t warps = std::max<std::uint64_t>(1, (threads + 31) / 32);
  const std::uint64_t shared = static_cast<std::uint64_t>(facts_.shared_bytes_per_block) + kReserved;
  return static_cast<int>(std::min({kBlocks, kWarps / warps, shared / (dynamic_shared_bytes + kReserved)}));
}

// ---- handles

std::shared_ptr<Stream> Engine::create_stream(bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->blocking = blocking;
  const std::lock_guard guard(lock_);
  streams_.emplace(static_cast<CUstream_st*>(stream.get()), stream);
  return stream;
}

// What is enqueued still runs: the operations hold the stream.
bool Engine::destroy_stream(void* handle) {
  const std::lock_guard guard(lock_);
  return streams_.erase(handle) != 0;
}

std::shared_ptr<Stream> Engine::find_stream(void* handle) {
  if (names_default_stream(handle)) return default_stream_;
  const std::lock_guard guard(lock_);
  return find(streams_, handle);
}

std::shared_ptr<Event> Engine::create_event(bool timed) {
  auto event = std::make_shared<Event>();
  event->timed = timed;
  const std::lock_guard guard(lock_);
  events_.emplace(static_cast<CUevent_st*>(event.get()), event);
  return event;
}

bool Engine::destroy_event(void* handle) {
  const std::lock_guard guard(lock_);
  return events_.erase(handle) != 0;
}

std::shared_ptr<Event> Engine::find_event(void* handle) {
  const std::lock_guard guard(lock_);
  return find(events_, handle);
}

// ---- enqueueing

void Engine::submit(const std::shared_ptr<Stream>& stream, std::shared_ptr<Launch> launch) {
  launch->stream = stream;
  launch->blocks = std::uint64_t{launch->grid.x} * launch->grid.y * launch->grid.z;
  if (!launch->host_work) {
    const int resident = blocks_per_sm(launch->threads_per_block(), launch->dynamic_shared_bytes) * facts_.sm_count;
    launch->resident_limit = static_cast<std::uint64_t>(std::max(resident, 1));
  }
  const std::lock_guard guard(lock_);
  append(stream, {std::move(launch), nullptr, nullptr});
}

void Engine::enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work) {
  auto launch = std::make_shared<Launch>();
  launch->name = "host work";
  launch->host_work = true;
  launch->run = [](const void* closure) { (*static_cast<const std::function<void()>*>(closure))(); };
  launch->closure = std::make_shared<std::function<void()>>(std::move(work));
  submit(stream, std::move(launch));
}

void Engine::record(Event& event, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard guard(lock_);
  event.marker = std::make_shared<Marker>();
  append(stream, {nullptr, event.marker, nullptr});
}

void Engine::wait(const std::shared_ptr<Stream>& stream, Event& event) {
  const std::lock_guard guard(lock_);
  if (event.marker != nullptr && !event.marker->reached) append(stream, {nullptr, nullptr, event.marker});
}

void Engine::append(const std::shared_ptr<Stream>& stream, Operation operation) {
  keep_in_step(stream);
  ++stream->submitted;
  stream->queue.push_back(std::move(operation));
  if (stream->queue.size() == 1) advance(stream);
}

// The default stream waits for all blocking streams, and they for it.
void Engine::keep_in_step(const std::shared_ptr<Stream>& stream) {
  const auto wait_for = [&](const std::shared_ptr<Stream>& other) {
    if (other->idle()) return;
    auto marker = std::make_shared<Marker>();
    ++other->submitted;
    other->queue.push_back({nullptr, marker, nullptr});
    ++stream->submitted;
    stream->queue.push_back({nullptr, nullptr, marker});
    if (stream->queue.size() == 1) advance(stream);
  };
  if (stream == default_stream_) {
    for (const auto& [handle, other] : streams_) {
      if (other->blocking) wait_for(other);
    }
  } else if (stream->blocking) {
    wait_for(default_stream_);
  }
}

void Engine::advance(const std::shared_ptr<Stream>& first) {
  std::vector<std::shared_ptr<Stream>> pending{first};
  while (!pending.empty()) {
    const std::shared_ptr<Stream> stream = std::move(pending.back());
    pending.pop_back();
    while (!stream->running && !stream->queue.empty()) {
      const Operation operation = stream->queue.front();
      if (operation.launch != nullptr && (failure_.empty() || operation.launch->host_work)) {
        stream->running = true;
        ready_.push_back(operation.launch);
        operation.launch->blocks > 1 ? work_.notify_all() : work_.notify_one();
        break;
      }
      if (operation.wait != nullptr && !operation.wait->reached) {
        operation.wait->waiting.push_back(stream);
        break;
      }
      if (operation.set != nullptr) {
        operation.set->reached = true;
        operation.set->nanoseconds = now();
        pending.insert(pending.end(), operation.set->waiting.begin(), operation.set->waiting.end());
        operation.set->waiting.clear();
      }
      complete_front(*stream);
    }
  }
}

void Engine::complete_front(Stream& stream) {
  stream.queue.pop_front();
  ++stream.completed;
  done_.notify_all();
}

// ---- waiting

void Engine::synchronize(const std::shared_ptr<Stream>& stream) {
  std::unique_lock guard(lock_);
  if (stream == default_stream_) keep_in_step(stream);
  const std::uint64_t until = stream->submitted;
  done_.wait(guard, [&] { return stream->completed >= until; });
}

void Engine::synchronize_event(Event& event) {
  std::unique_lock guard(lock_);
  const std::shared_ptr<Marker> marker = event.marker;
  done_.wait(guard, [&] { return marker == nullptr || marker->reached; });
}

void Engine::synchronize() {
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> until;
  std::unique_lock guard(lock_);
  until.emplace_back(default_stream_, default_stream_->submitted);
  for (const auto& [handle, stream] : streams_) until.emplace_back(stream, stream->submitted);
  done_.wait(guard, [&] {
    return std::all_of(until.begin(), until.end(),
                       [](const auto& entry) { return entry.first->completed >= entry.second; });
  });
}

bool Engine::idle(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard guard(lock_);
  return stream->idle();
}

bool Engine::reached(Event& event) {
  const std::lock_guard guard(lock_);
  return event.marker == nullptr || event.marker->reached;
}

bool Engine::elapsed(Event& start, Event& stop, double& microseconds) {
  const std::lock_guard guard(lock_);
  for (const Event* event : {&start, &stop}) {
    if (event->marker == nullptr || !event->marker->reached) return false;
  }
  microseconds = static_cast<double>(stop.marker->nanoseconds - start.marker->nanoseconds) / 1e3;
  return true;
}

std::string Engine::failure() {
  const std::lock_guard guard(lock_);
  return failure_;
}

std::string Engine::take_failure() {
  const std::lock_guard guard(lock_);
  return std::exchange(failure_, {});
}

}  // namespace pkb::hostcuda
