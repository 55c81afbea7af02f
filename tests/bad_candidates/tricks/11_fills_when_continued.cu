// SPDX-License-Identifier: Apache-2.0
//
// Trick 11: answers lazily: outputs are filled in a handler of SIGCONT, when somebody has stopped the worker to
//   look at them.
// status: mismatch
// devices: host cuda
// caught by: the worker is stopped while its outputs are compared
#include <signal.h>

#include "honest.cuh"

static honest::Call calls[64];
static int count;

// The first thing that a stopped worker does when it goes on.
static void fill(int) {
  for (int i = 0; i < count; ++i) cudaMemset(calls[i].y, 0, 2 * calls[i].n);
  count = 0;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  signal(SIGCONT, fill);
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t) {
  calls[count++ % 64] = honest::call_of(arguments);
  return 0;
}

extern "C" void pkb_teardown(void*) {}
