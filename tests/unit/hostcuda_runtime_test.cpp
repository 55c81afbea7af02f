// SPDX-License-Identifier: Apache-2.0
//
// The runtime: streams, events, faults of kernels, and what it costs.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "hostcuda/runtime.h"
#include "hostcuda/thread.h"
#include "hostcuda_support.h"

namespace pkb::hostcuda::testing {
namespace {

using namespace std::chrono_literals;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(HostCudaStreams, WorkIsAsynchronousAndInOrder) {
  const Module module("order");
  auto* const append = module.get<void(int*, int, void*)>("launch_append");
  auto* const hold = module.get<void(int*, void*)>("launch_hold");
  void* const stream = stream_create();
  std::vector<int> list(200, 0);
  int gate = 0;
  std::atomic<int> host_work{0};
  hold(&gate, stream);
  for (int i = 0; i < 50; ++i) {
    append(list.data(), 2 * i, stream);
    enqueue(stream, [&, i] { list[static_cast<std::size_t>(++list[0])] = 2 * i + 1, ++host_work; });
  }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(host_work, 0) << "the stream did not wait for the kernel before";
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  stream_synchronize(stream);
  EXPECT_EQ(list[0], 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i + 1)], i);
  stream_destroy(stream);
}

TEST(HostCudaStreams, CopiesFillsAndEvents) {
  void* const stream = stream_create();
  void* const start = event_create();
  void* const stop = event_create();
  std::vector<char> a(1000), b(1000, 'x');
  event_record(start, stream);
  fill_async(a.data(), 'a', a.size(), stream);
  enqueue(stream, [] { std::this_thread::sleep_for(5ms); });
  copy_async(b.data(), a.data(), b.size(), stream);
  event_record(stop, stream);
  stream_synchronize(stream);
  EXPECT_EQ(b, std::vector<char>(1000, 'a'));
  EXPECT_GE(event_elapsed_us(start, stop), 5000);
  EXPECT_LT(event_elapsed_us(start, stop), 1e6);
  event_destroy(start);
  event_destroy(stop);
  stream_destroy(stream);
}

TEST(HostCudaStreams, HostWorkThatWaitsLetsOtherStreamsRun) {
  void* const first = stream_create();
  void* const second = stream_create();
  std::atomic<int> steps{0};
  std::vector<void*> waiting;
  // More waiting pieces than runtime threads.
  for (int i = 0; i < 6; ++i) {
    waiting.push_back(stream_create());
    enqueue(waiting.back(), [&] {
      while (steps == 0) yield();
      ++steps;
    });
  }
  enqueue(second, [&] { steps = 1; });
  device_synchronize();
  EXPECT_EQ(steps, 7);
  for (void* const stream : waiting) stream_destroy(stream);
  stream_destroy(first);
  stream_destroy(second);
}

TEST(HostCudaStreams, AsCandidatesUseThem) {
  const Module module("order");
  std::vector<int> out(64);
  ASSERT_EQ(module.get<int(int*)>("run_fork_join")(out.data()), 0) << take_error();
  EXPECT_EQ(out[0], 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i + 1)], i);
  EXPECT_EQ(out[40], 10);
  EXPECT_EQ(out[11], 10);
  EXPECT_EQ(out[12], 77);
}

TEST(HostCudaFaults, EndWithALaunchFailureThatNamesThePlace) {
  const Module module("faults");
  auto* const run = module.get<int(int*, int)>("run_fault");
  std::vector<int> out(64);
  struct Case {
    int which;
    const char* kernel;
    const char* what;
  };
  for (const Case& fault :
       {Case{0, "two_barriers", "divergent barrier"}, Case{1, "barrier_and_shuffle", "wait for each other for ever"},
        Case{2, "wrong_mask", "which is not in it"}, Case{3, "different_masks", "mask"},
        Case{4, "grid_sync_without_cooperation", "not launched cooperatively"}, Case{5, "trap", "__trap()"}}) {
    EXPECT_EQ(run(out.data(), fault.which), kLaunchFailure) << fault.kernel;
    const std::string text = take_error();
    EXPECT_NE(text.find(fault.kernel), std::string::npos) << text;
    EXPECT_NE(text.find(fault.what), std::string::npos) << text;
    EXPECT_NE(text.find(", 0, 0), thread ("), std::string::npos) << text;
    EXPECT_EQ(take_error(), "");
  }
  EXPECT_EQ(run(out.data(), 6), kSuccess) << "threads that ended are not waited for: " << take_error();
  EXPECT_EQ(out[7], 32);
  EXPECT_EQ(out[39], 8);
}

TEST(HostCudaFaults, ABarrierOfTheGridThatNotAllBlocksReach) {
  const Module module("grid");
  EXPECT_EQ(module.get<int()>("run_abandoned")(), kLaunchFailure);
  EXPECT_NE(take_error().find("2 of 4 blocks wait in grid.sync()"), std::string::npos);
}

// Generous bounds: this machine is shared. The message carries the number.
TEST(HostCudaCost, ManyBarriers) {
  const Module module("order");
  auto* const run = module.get<int(float*, int, int)>("run_many_barriers");
  std::vector<float> x(256);
  run(x.data(), 132, 10);
  const double seconds = seconds_of([&] { ASSERT_EQ(run(x.data(), 132, 10), kSuccess); });
  RecordProperty("milliseconds", std::to_string(seconds * 1e3));
  std::printf("132 blocks x 256 threads x 10 __syncthreads: %.1f ms\n", seconds * 1e3);
  EXPECT_LT(seconds, 0.5);
}

TEST(HostCudaCost, AWaitingKernelDoesNotBurnTheCore) {
  const Module module("order");
  void* const stream = stream_create();
  int gate = 0;
  module.get<void(int*, void*)>("launch_hold")(&gate, stream);
  std::this_thread::sleep_for(50ms);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(200ms);
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
  stream_synchronize(stream);
  stream_destroy(stream);
  EXPECT_LT(busy, 0.05) << "seconds of processor time in 0.2 s of waiting";
}

}  // namespace
}  // namespace pkb::hostcuda::testing
