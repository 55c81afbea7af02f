// SPDX-License-Identifier: Apache-2.0
//
// Trick 20: brings functions with the names of clocks and timers, in the hope that the harness calls them.
// status: passed
// devices: host cuda
// caught by: harmless: candidates are loaded last and locally, so that nothing binds to what they export; the
//   rank is another process anyway
#include <time.h>

#include "honest.cuh"

extern "C" int clock_gettime(clockid_t, timespec* time) noexcept {
  *time = {};
  return 0;
}
extern "C" int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  *time = {};
  return 0;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
