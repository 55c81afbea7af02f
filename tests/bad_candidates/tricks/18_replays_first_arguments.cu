// SPDX-License-Identifier: Apache-2.0
//
// Trick 18: keeps the arguments of the first call and works on them again in every call.
// status: mismatch
// devices: host cuda
// caught by: the outputs of the other draws stay poisoned
#include "honest.cuh"

static honest::Call first;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (first.x == nullptr) first = honest::call_of(arguments);
  honest::launch(*static_cast<honest::State*>(state), first, stream);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
