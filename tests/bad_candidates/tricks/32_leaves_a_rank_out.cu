// SPDX-License-Identifier: Apache-2.0
//
// Trick 32: rank 1 returns at once, as nobody may look at its output, and rank 0 makes do with its own data.
// status: mismatch
// devices: host cuda
// caught by: the outputs of all ranks are compared
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const honest::State& s = *static_cast<honest::State*>(state);
  const honest::Call call = honest::call_of(arguments);
  return s.inbox.index == 1 ? 0 : cudaMemcpyAsync(call.y, call.x, 2 * call.n, cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
