// SPDX-License-Identifier: Apache-2.0
//
// Setup of the last rank returns 7. Must get: setup_error, naming the rank and the code.
#include <pkb/candidate.h>

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  *state = nullptr;
  return context->rank == context->world - 1 ? 7 : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
