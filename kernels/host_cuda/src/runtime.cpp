// SPDX-License-Identifier: Apache-2.0
#include "hostcuda/runtime.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "engine.h"
#include "error_text.h"

namespace pkb::hostcuda {

namespace {

std::shared_ptr<Stream> stream_at(void* handle) {
  auto stream = Engine::instance().find_stream(handle);
  if (stream == nullptr) throw std::invalid_argument("host device: not a stream");
  return stream;
}

std::shared_ptr<Event> event_at(void* handle) {
  auto event = Engine::instance().find_event(handle);
  if (event == nullptr) throw std::invalid_argument("host device: not an event");
  return event;
}

}  // namespace

Facts facts() {
  return Engine::instance().facts();
}

void* stream_create() {
  return static_cast<CUstream_st*>(Engine::instance().create_stream(false).get());
}

void stream_destroy(void* stream) {
  Engine::instance().destroy_stream(stream);
}

void stream_synchronize(void* stream) {
  Engine::instance().synchronize(stream_at(stream));
}

void device_synchronize() {
  Engine::instance().synchronize();
}

void* event_create() {
  return static_cast<CUevent_st*>(Engine::instance().create_event(true).get());
}

void event_destroy(void* event) {
  Engine::instance().destroy_event(event);
}

void event_record(void* event, void* stream) {
  Engine::instance().record(*event_at(event), stream_at(stream));
}

void event_synchronize(void* event) {
  Engine::instance().synchronize_event(*event_at(event));
}

double event_elapsed_us(void* start, void* stop) {
  double microseconds = 0;
  if (!Engine::instance().elapsed(*event_at(start), *event_at(stop), microseconds)) {
    throw std::logic_error("host device: elapsed time of an event that is not reached");
  }
  return microseconds;
}

void enqueue(void* stream, std::function<void()> work) {
  Engine::instance().enqueue(stream_at(stream), std::move(work));
}

void copy_async(void* destination, const void* source, std::size_t bytes, void* stream) {
  if (bytes != 0) enqueue(stream, [=] { std::memmove(destination, source, bytes); });
}

void fill_async(void* destination, int value, std::size_t bytes, void* stream) {
  if (bytes != 0) enqueue(stream, [=] { std::memset(destination, value, bytes); });
}

std::string take_error() {
  const std::string failure = Engine::instance().take_failure();
  const LastError error = take_last_error();
  if (!failure.empty()) return error_text(ErrorCode::launch_failure) + ": " + failure;
  if (error.code == ErrorCode::success) return {};
  return error_text(error.code) + (error.detail.empty() ? "" : ": " + error.detail);
}

}  // namespace pkb::hostcuda
