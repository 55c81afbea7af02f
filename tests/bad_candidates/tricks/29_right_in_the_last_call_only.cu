// SPDX-License-Identifier: Apache-2.0
//
// Trick 29: works in every third call, the last of a burst, for a harness that looks at the last output.
// status: mismatch
// devices: host cuda
// caught by: all outputs of a burst are compared
#include "honest.cuh"

static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return ++calls % 3 != 0 ? 0 : honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
