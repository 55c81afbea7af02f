// SPDX-License-Identifier: Apache-2.0
//
// Trick 13: computes in a handler of SIGCONT: the worker goes on after its inputs were drawn and before the
//   clock runs.
// status: cheated
// devices: host cuda
// caught by: only by a time under the roofline (implausible), on GPUs
// open: a stopped worker's handlers can be read in /proc (SigCgt), timers end in handlers or threads as well;
//   above all inputs should be completed only after the ranks have met.
#include <signal.h>

#include "ahead.cuh"

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  return ahead::setup(context, arguments);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  if (ahead::all().calls == ahead::kTrialCalls) signal(SIGCONT, [](int) { ahead::compute_all(); });
  return ahead::run(arguments, stream);
}

extern "C" void pkb_teardown(void*) {
  signal(SIGCONT, SIG_DFL);
}
