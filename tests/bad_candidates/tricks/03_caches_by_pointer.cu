// SPDX-License-Identifier: Apache-2.0
//
// Trick 3: keeps the answer of each output address and hands it out again when the address comes back.
// status: mismatch
// devices: host cuda
// caught by: every draw is new, at addresses that come back
#include <map>

#include "honest.cuh"

static std::map<void*, void*> answers;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  void*& answer = answers[y.data()];
  if (answer) return cudaMemcpyAsync(y.data(), answer, y.bytes(), cudaMemcpyDeviceToDevice, stream);
  honest::run(state, arguments, stream);
  cudaMalloc(&answer, 2 * y.capacity());
  return cudaMemcpyAsync(answer, y.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
