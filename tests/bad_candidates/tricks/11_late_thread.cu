// SPDX-License-Identifier: Apache-2.0
//
// Trick 11: a thread writes the answers a moment after the call has returned, when the outputs may not have
//   been read yet.
// status: mismatch
// devices: host cuda
// caught by: the worker is stopped while its outputs are compared, threads and all
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
  std::thread([s, call] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    cudaSetDevice(device);
    honest::launch(s, call, own);
  }).detach();
  return 0;
}

extern "C" void pkb_teardown(void*) {}
