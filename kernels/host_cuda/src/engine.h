// SPDX-License-Identifier: Apache-2.0
//
// The device: streams, the runtime threads, and the resident blocks of all streams under one scheduler, so that kernels
// that wait for each other across streams or processes make progress together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "errors.h"
#include "hostcuda/runtime.h"
#include "stream.h"

namespace pkb::hostcuda {

class Block;

class Engine {
 public:
  /// One a process; its threads live until the process ends.
  static Engine& instance();

  const Facts& facts() const { return facts_; }
  /// Blocks of this shape that are resident on one SM at a time.
  int blocks_per_sm(std::uint64_t threads, std::uint64_t dynamic_shared_bytes) const;

  // Handles. Null, and CUDA's two special values, are the default stream. Unknown handles give null.
  std::shared_ptr<Stream> create_stream(bool blocking);
  bool destroy_stream(void* handle);
  std::shared_ptr<Stream> find_stream(void* handle);
  std::shared_ptr<Event> create_event(bool timed);
  bool destroy_event(void* handle);
  std::shared_ptr<Event> find_event(void* handle);

  void submit(const std::shared_ptr<Stream>& stream, std::shared_ptr<Launch> launch);
  void enqueue(const std::shared_ptr<Stream>& stream, std::function<void()> work);
  void record(Event& event, const std::shared_ptr<Stream>& stream);
  void wait(const std::shared_ptr<Stream>& stream, Event& event);

  void synchronize(const std::shared_ptr<Stream>& stream);
  void synchronize_event(Event& event);
  void synchronize();
  bool idle(const std::shared_ptr<Stream>& stream);
  bool reached(Event& event);
  /// Microseconds between two reached events; false when one was not.
  bool elapsed(Event& start, Event& stop, double& microseconds);

  /// A launch that failed stops the device: nothing runs any more until the failure is taken.
  std::string failure();
  std::string take_failure();

 private:
  struct Worker;

  Engine();

  // Runtime threads.
  void work();
  bool run_block(Worker& worker, std::size_t index, bool& ticked);
  void wait_for_grid(Block& block);
  void retire(Worker& worker, std::size_t index);
  bool take_block(Worker& worker);
  void rest(Worker& worker, bool ticked);

  // With the lock held.
  void append(const std::shared_ptr<Stream>& stream, Operation operation);
  void keep_in_step(const std::shared_ptr<Stream>& stream);
  void advance(const std::shared_ptr<Stream>& stream);
  void complete_front(Stream& stream);
  Launch* launch_to_take_from() const;
  void abort(Launch& launch, const std::string& why);
  void check_grid(Launch& launch);
  void complete(Launch& launch);

  Facts facts_;
  mutable std::mutex lock_;
  std::condition_variable work_;  ///< for runtime threads
  std::condition_variable done_;  ///< for host threads
  std::shared_ptr<Stream> default_stream_;
  std::unordered_map<void*, std::shared_ptr<Stream>> streams_;
  std::unordered_map<void*, std::shared_ptr<Event>> events_;
  std::vector<std::shared_ptr<Launch>> ready_;  ///< begun, with blocks to hand out
  std::string failure_;
};

}  // namespace pkb::hostcuda
