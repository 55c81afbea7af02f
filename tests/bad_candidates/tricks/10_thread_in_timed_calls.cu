// SPDX-License-Identifier: Apache-2.0
//
// Trick 10: a thread a call launches the work, beside the stream that is timed.
// status: cheated
// devices: host cuda
// caught by: the rank counts the worker's threads before and after timed calls
#include <chrono>
#include <thread>

#include "honest.cuh"

static cudaStream_t own;
static int device;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  cudaGetDevice(&device);
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t) {
  const honest::State s = *static_cast<honest::State*>(state);
  const honest::Call call = honest::call_of(arguments);
  std::thread thread([s, call] {
    cudaSetDevice(device);
    honest::launch(s, call, own);
    cudaStreamSynchronize(own);
  });
  thread.join();
  std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(5)); }).detach();  // waits for the next call
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
