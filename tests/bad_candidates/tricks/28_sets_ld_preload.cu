// SPDX-License-Identifier: Apache-2.0
//
// Trick 28: puts a library of its own in front of those of processes that start later.
// status: mismatch
// devices: host cuda
// caught by: workers are started by the rank, with the rank's environment
#include <stdlib.h>

#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  setenv("LD_PRELOAD", "./always_right.so", 1);
  setenv("PATH", "./my_compiler", 1);
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
