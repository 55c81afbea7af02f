// SPDX-License-Identifier: Apache-2.0
//
// Trick 1: leaves its outputs as they are, for a harness that hands out the memory of the reference's result.
// status: mismatch
// devices: host cuda
// caught by: outputs are poisoned before every call
#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
