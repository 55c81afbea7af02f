// SPDX-License-Identifier: Apache-2.0
//
// Trick 9: launches on the legacy default stream, which the given non-blocking stream does not wait for.
// status: cheated
// devices: cuda
// caught by: the device still works after the end event; where that is too short to show, the time is below the
//   roofline (implausible)
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t) {
  return honest::run(state, arguments, cudaStreamLegacy);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
