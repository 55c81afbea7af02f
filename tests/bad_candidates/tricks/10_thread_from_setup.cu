// SPDX-License-Identifier: Apache-2.0
//
// Trick 10: a thread from pkb_setup computes all draws as soon as their inputs are there, before the clock
//   runs; pkb_run finds the answers.
// status: cheated
// devices: host cuda
// caught by: only by a time under the roofline (implausible), on GPUs
// open: inputs lie in the slab from the request that binds them on, milliseconds before the clock runs. Threads
//   that pkb_setup leaves behind should be refused, and inputs completed only after the ranks have met.
#include <atomic>
#include <chrono>
#include <thread>

#include "ahead.cuh"

static std::thread helper;
static std::atomic<bool> ended;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  if (const int code = ahead::setup(context, arguments)) return code;
  int device;
  cudaGetDevice(&device);
  helper = std::thread([device] {
    cudaSetDevice(device);
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard guard(ahead::all().lock);
      ahead::compute_all();
    }
  });
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  return ahead::run(arguments, stream);
}

extern "C" void pkb_teardown(void*) {
  ended = true;
  helper.join();
}
