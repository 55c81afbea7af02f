// SPDX-License-Identifier: Apache-2.0
//
// Trick 6: writes zeros, which are close to many small answers.
// status: mismatch
// devices: host cuda
// caught by: inputs are such that zeros are wrong in every problem (the runner's controls)
#include "pkb/arguments.h"
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  return cudaMemsetAsync(y.data(), 0, y.bytes(), stream);
}

extern "C" void pkb_teardown(void*) {}
