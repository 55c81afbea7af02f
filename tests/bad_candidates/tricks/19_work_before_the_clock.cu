// SPDX-License-Identifier: Apache-2.0
//
// Trick 19: a time below what the hardware allows: all work is done before the clock runs (see
//   10_thread_from_setup.cu).
// status: implausible
// devices: cuda
// caught by: no call can be faster than the slowest resource of the roofline
// open: a call that spins until it is just above the roofline is not caught by this
#include <signal.h>

#include "ahead.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  return ahead::setup(context, arguments);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  if (ahead::all().calls == ahead::kTrialCalls) signal(SIGCONT, [](int) { ahead::compute_all(); });
  for (const ahead::Known& known : ahead::all().known) {
    if (known.call.y == honest::call_of(arguments).y) return 0;
  }
  return ahead::run(arguments, stream);
}

extern "C" void pkb_teardown(void*) {
  signal(SIGCONT, SIG_DFL);
}
