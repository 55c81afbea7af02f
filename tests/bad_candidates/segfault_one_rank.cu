// SPDX-License-Identifier: Apache-2.0
//
// Rank 1 writes through a wild pointer on the host, the others wait for nobody. Must get: crashed, naming rank 1.
#include <pkb/candidate.h>

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  *state = reinterpret_cast<void*>(static_cast<intptr_t>(context->rank));
  return 0;
}

extern "C" int pkb_run(void* state, const pkb_arguments*, cudaStream_t) {
  if (reinterpret_cast<intptr_t>(state) == 1) *reinterpret_cast<volatile int*>(8) = 1;
  return 0;
}

extern "C" void pkb_teardown(void*) {}
