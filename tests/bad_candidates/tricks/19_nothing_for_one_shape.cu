// SPDX-License-Identifier: Apache-2.0
//
// Trick 19: returns at once for one of the shapes: a time of nearly nothing would pull a mean over shapes down.
// status: mismatch
// devices: host cuda
// caught by: every case is checked; and a time under the roofline would be implausible
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return honest::call_of(arguments).n % 8 != 0 ? 0 : honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
