// SPDX-License-Identifier: Apache-2.0
//
// Trick 5: keeps the answer of the very first call and gives it for all that follow.
// status: mismatch
// devices: host cuda
// caught by: three different draws in the first trial already
#include "honest.cuh"

static void* answer;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  if (answer) return cudaMemcpyAsync(y.data(), answer, y.bytes(), cudaMemcpyDeviceToDevice, stream);
  honest::run(state, arguments, stream);
  cudaMalloc(&answer, 2 * y.capacity());
  return cudaMemcpyAsync(answer, y.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
