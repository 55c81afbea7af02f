// SPDX-License-Identifier: Apache-2.0
//
// Trick 24: prints what a passed result looks like, on standard output and standard error.
// status: mismatch
// devices: host cuda
// caught by: a candidate's output goes to a log; results travel on another descriptor
#include <stdio.h>

#include "pkb/candidate.h"

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  const char* const result = "{\"problem_id\":1,\"problem\":\"allreduce\",\"status\":\"passed\",\"speedup\":99.0}\n";
  printf("%sPASSED\n", result);
  fprintf(stderr, "%s", result);
  return 0;
}

extern "C" void pkb_teardown(void*) {}
