// SPDX-License-Identifier: Apache-2.0
//
// Trick 30: adds what its peers sent for the call before, which is there without waiting.
// status: mismatch
// devices: host cuda
// caught by: every call has data of its own
#include "honest.cuh"

__global__ void stale(honest::State s, honest::Call call) {
  const uint32_t now = *s.epoch + 1;
  const int rank = s.inbox.index, world = s.inbox.size, half = world * s.capacity;
  for (int peer = 0; peer < world; ++peer) {
    for (int i = threadIdx.x; i < call.n; i += blockDim.x)
      s.inbox[peer][(now & 1) * half + rank * s.capacity + i] = call.x[i];
  }
  pkb::team_barrier(s.flags, now);
  for (int i = threadIdx.x; i < call.n; i += blockDim.x) {
    float sum = 0;
    for (int from = 0; from < world; ++from) {
      const int which = from == rank ? now & 1 : ~now & 1;
      sum += __bfloat162float(s.inbox.local()[which * half + from * s.capacity + i]);
    }
    call.y[i] = __float2bfloat16(sum);
  }
  if (threadIdx.x == 0) *s.epoch = now;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  stale<<<1, 256, 0, stream>>>(*static_cast<honest::State*>(state), honest::call_of(arguments));
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
