// SPDX-License-Identifier: Apache-2.0
//
// Trick 26: launches with more threads than a block can have, and looks at no error: nothing runs, and old
//   values remain.
// status: runtime_error
// devices: host cuda
// caught by: the error of the candidate's own CUDA runtime is asked for after every burst, and outputs are
//   poisoned
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::all_reduce<<<1, 2048, 0, stream>>>(*static_cast<honest::State*>(state), honest::call_of(arguments));
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
