// SPDX-License-Identifier: Apache-2.0
//
// Trick 22: copies what lies behind its output in the slab: maybe the expected answer.
// status: mismatch
// devices: host cuda
// caught by: the slab holds inputs and poisoned outputs, and no expected value at any time
#include "pkb/arguments.h"
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  const char* const behind = y.data<const char>() + (2 * y.capacity() + 255) / 256 * 256;
  return cudaMemcpyAsync(y.data(), behind, y.bytes(), cudaMemcpyDeviceToDevice, stream);
}

extern "C" void pkb_teardown(void*) {}
