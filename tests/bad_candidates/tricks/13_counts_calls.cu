// SPDX-License-Identifier: Apache-2.0
//
// Trick 13: is right as often as there are calls in trials and warm-up, and copies its input from then on.
// status: mismatch
// devices: host cuda
// caught by: timed outputs are compared like those of the trials
#include "honest.cuh"

static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (++calls <= 23) return honest::run(state, arguments, stream);
  const honest::Call call = honest::call_of(arguments);
  return cudaMemcpyAsync(call.y, call.x, 2 * call.n, cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
