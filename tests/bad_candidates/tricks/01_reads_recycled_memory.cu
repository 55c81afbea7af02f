// SPDX-License-Identifier: Apache-2.0
//
// Trick 1: returns uninitialised memory, which an allocator that both sides shared would have taken from the
//   reference's result.
// status: mismatch
// devices: host cuda
// caught by: the reference runs in another process; nothing of its is ever in the candidate's memory
#include "pkb/arguments.h"
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return context->workspace(context, 2 * pkb::output(arguments, "y").capacity(), state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  return cudaMemcpyAsync(y.data(), state, y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void*) {}
