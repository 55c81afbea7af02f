// SPDX-License-Identifier: Apache-2.0
//
// Trick 33: right answers, and 16 bytes more behind the end of a peer's symmetric memory.
// status: mismatch
// devices: host cuda
// caught by: symmetric memory has guards on both sides, which are compared
#include "honest.cuh"

static pkb_symmetric memory;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  if (context->symmetric_alloc(context, nullptr, 1 << 20, &memory) != 0) return 1;
  return honest::setup(context, arguments, state);
}

__global__ void one_too_many(char* end) {
  if (threadIdx.x < 16) end[threadIdx.x] = 1;
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const honest::State& s = *static_cast<honest::State*>(state);
  one_too_many<<<1, 32, 0, stream>>>(static_cast<char*>(memory.peers[(s.inbox.index + 1) % s.inbox.size]) +
                                     memory.bytes);
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
