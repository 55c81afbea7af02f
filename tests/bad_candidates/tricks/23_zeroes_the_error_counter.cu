// SPDX-License-Identifier: Apache-2.0
//
// Trick 23: writes zeros around its output, where a counter of errors may lie.
// status: mismatch
// devices: host cuda
// caught by: counters are the rank's; what lies around an output in the slab are other tensors and guards,
//   which are compared
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::run(state, arguments, stream);
  const pkb::Tensor y = pkb::output(arguments, "y");
  return cudaMemsetAsync(y.data<char>() - 64, 0, 64, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
