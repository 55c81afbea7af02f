// SPDX-License-Identifier: Apache-2.0
//
// Trick 13: works only where the output is poisoned, for a harness that does so in its checks and not in its
//   timed calls.
// status: passed
// devices: host cuda
// caught by: harmless: the output of every timed call is poisoned as well, so only repeated calls of the warm-
//   up are saved
#include <map>

#include "ahead.cuh"

static std::map<void*, uint32_t> left;  // the first word of each output, as it was left

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void**) {
  return ahead::setup(context, arguments);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const honest::Call call = honest::call_of(arguments);
  cudaStreamSynchronize(stream);
  const auto found = left.find(call.y);
  if (found != left.end() && found->second == ahead::first_word(call.y)) return 0;
  honest::launch(ahead::all().state, call, stream);
  cudaStreamSynchronize(stream);
  left[call.y] = ahead::first_word(call.y);
  return 0;
}

extern "C" void pkb_teardown(void*) {}
