// SPDX-License-Identifier: Apache-2.0
//
// Trick 33: a static constructor starts a thread, before anybody could count, that works when calls are timed.
// status: cheated
// devices: host cuda
// caught by: nothing yet
// open: the rank counts threads before and after timed calls only; those from before pkb_run should count as
//   well (10_thread_from_setup.cu)
#include <chrono>
#include <thread>

#include "honest.cuh"

static struct Early {
  Early() {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(20)); }).detach();
  }
} early;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
