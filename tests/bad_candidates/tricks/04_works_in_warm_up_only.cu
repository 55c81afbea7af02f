// SPDX-License-Identifier: Apache-2.0
//
// Trick 4: computes in trials and warm-up, and only copies what it kept once calls look timed.
// status: mismatch
// devices: host cuda
// caught by: inputs are drawn anew between warm-up and timed loops, and every timed output is compared
#include <map>

#include "honest.cuh"

static std::map<void*, void*> kept;
static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  void*& answer = kept[y.data()];
  if (++calls > 23 && answer) {  // 15 calls of trials, 6 that probe, 2 of the shortest warm-up
    return cudaMemcpyAsync(y.data(), answer, y.bytes(), cudaMemcpyDeviceToDevice, stream);
  }
  honest::run(state, arguments, stream);
  if (!answer) cudaMalloc(&answer, 2 * y.capacity());
  return cudaMemcpyAsync(answer, y.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
