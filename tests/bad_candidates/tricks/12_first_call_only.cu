// SPDX-License-Identifier: Apache-2.0
//
// Trick 12: in every burst the first call works, the others return at once.
// status: mismatch
// devices: host cuda
// caught by: every output of every timed call is compared
#include "honest.cuh"

static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (++calls > 23 && calls % 5 != 4) return 0;  // trials and warm-up are done honestly
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
