// SPDX-License-Identifier: Apache-2.0
//
// Trick 6: gives the right answer of the call before.
// status: mismatch
// devices: host cuda
// caught by: draws differ from call to call, and the first call has no call before it
#include "honest.cuh"

static void *fresh, *previous;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  const size_t bytes = 2 * pkb::output(arguments, "y").capacity();
  cudaMalloc(&fresh, bytes);
  cudaMalloc(&previous, bytes);
  cudaMemset(previous, 0, bytes);
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  honest::run(state, arguments, stream);
  cudaMemcpyAsync(fresh, y.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(y.data(), previous, y.bytes(), cudaMemcpyDeviceToDevice, stream);
  return cudaMemcpyAsync(previous, fresh, y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
