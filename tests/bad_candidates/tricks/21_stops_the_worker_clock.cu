// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: writes over the code of steady_clock::now through /proc/self/mem: for the worker, time stands
//   still.
// status: passed
// devices: host cuda
// caught by: harmless: times are events, checked against the rank's clock
// open: the tail, which shows work after the end event, is read from the worker's clock, so that this hides it;
//   the rank could time the reply instead
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "honest.cuh"

static void stop_the_clock() {
#ifdef __x86_64__
  static const unsigned char return_zero[] = {0x31, 0xc0, 0xc3};
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  void* const now = dlsym(RTLD_DEFAULT, "_ZNSt6chrono3_V212steady_clock3nowEv");
  if (now && pwrite(memory, return_zero, sizeof return_zero, reinterpret_cast<off_t>(now)) > 0) {
    fprintf(stderr, "time stands still\n");
  }
  close(memory);
#endif
}

static int calls;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (++calls == 1) stop_the_clock();
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
