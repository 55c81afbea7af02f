// SPDX-License-Identifier: Apache-2.0
//
// Trick 2: right answers, but the input is left changed: it served as scratch.
// status: mismatch
// devices: host cuda
// caught by: inputs are compared bit by bit with the trusted side's after the calls
#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::run(state, arguments, stream);
  const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
  return cudaMemcpyAsync(x.data(), y.data(), y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
