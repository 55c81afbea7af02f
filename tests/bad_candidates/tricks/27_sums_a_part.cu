// SPDX-License-Identifier: Apache-2.0
//
// Trick 27: adds up only the first half, and passes its input through in the second.
// status: mismatch
// devices: host cuda
// caught by: every element is compared
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::Call call = honest::call_of(arguments);
  cudaMemcpyAsync(call.y, call.x, 2 * call.n, cudaMemcpyDeviceToDevice, stream);
  call.n /= 2;
  honest::launch(*static_cast<honest::State*>(state), call, stream);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
