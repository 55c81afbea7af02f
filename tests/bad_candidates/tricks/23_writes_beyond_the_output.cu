// SPDX-License-Identifier: Apache-2.0
//
// Trick 23: right answers, and one vector more behind the end of the output.
// status: mismatch
// devices: host cuda
// caught by: what lies outside of outputs is compared as well
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::run(state, arguments, stream);
  const pkb::Tensor y = pkb::output(arguments, "y");
  return cudaMemsetAsync(y.data<char>() + 2 * y.capacity(), 0, 16, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
