// SPDX-License-Identifier: Apache-2.0
//
// Trick 7: knows the shape of the plain case: whole vectors of 16 bytes only, the tail is left out.
// status: mismatch
// devices: host cuda
// caught by: a case of the problem has 130 bytes
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::Call call = honest::call_of(arguments);
  call.n = call.n / 8 * 8;
  honest::launch(*static_cast<honest::State*>(state), call, stream);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
