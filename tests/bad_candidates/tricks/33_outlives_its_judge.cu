// SPDX-License-Identifier: Apache-2.0
//
// Trick 33: a child process in a session of its own goes on after the evaluation (for 30 s), beside what is
//   judged next.
// status: cheated
// devices: host
// caught by: the rank is a subreaper: what its workers leave becomes its own, is named and killed
#include <unistd.h>

#include "honest.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

static int calls;

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (++calls == 1 && fork() == 0) {
    setsid();
    close(3);
    alarm(30);
    for (;;) pause();
  }
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
