// SPDX-License-Identifier: Apache-2.0
//
// Trick 26: brings its own pkb_last_error, which never knows of an error.
// status: runtime_error
// devices: host cuda
// caught by: the worker asks its own device as well, and outputs are poisoned
#define pkb_last_error declared_pkb_last_error
#include "honest.cuh"
#undef pkb_last_error

extern "C" PKB_EXPORT int pkb_last_error(const char** text) {
  *text = "";
  return 0;
}

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
