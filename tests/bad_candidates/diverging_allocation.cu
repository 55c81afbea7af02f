// SPDX-License-Identifier: Apache-2.0
//
// Ranks ask for different sizes in one collective allocation. Must get: diverged, naming the sizes.
#include <pkb/candidate.h>

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  *state = nullptr;
  pkb_symmetric memory;
  return context->symmetric_alloc(context, "world", 4096 * (1 + context->rank), &memory);
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
