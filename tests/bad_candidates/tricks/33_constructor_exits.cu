// SPDX-License-Identifier: Apache-2.0
//
// Trick 33: a static constructor ends the process while the module is loaded.
// status: crashed
// devices: host cuda
// caught by: candidates are loaded in a process of their own
#include <unistd.h>

#include "pkb/candidate.h"

static struct Early {
  Early() { _exit(0); }
} early;

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
