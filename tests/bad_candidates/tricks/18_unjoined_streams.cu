// SPDX-License-Identifier: Apache-2.0
//
// Trick 18: forks half of the work to a second stream and never joins it.
// status: cheated
// devices: cuda
// caught by: the device still works after the end event
// open: what is left after the last call is short when the work is, and up to 500 us are believed; the calls
//   before it overlap unseen
#include "honest.cuh"

static cudaStream_t own;
static honest::State other_half;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  other_half = honest::make(context, arguments);
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const honest::Call call = honest::call_of(arguments);
  honest::launch(*static_cast<honest::State*>(state), {call.x, call.y, call.n / 2}, stream);
  cudaEvent_t fork;
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(own, fork, 0);
  cudaEventDestroy(fork);
  honest::launch(other_half, {call.x + call.n / 2, call.y + call.n / 2, call.n - call.n / 2}, own);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
