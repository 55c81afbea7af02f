// SPDX-License-Identifier: Apache-2.0
//
// Trick 32: rank 0 does all the work and hands out the sums; the others only wait.
// status: passed
// devices: host cuda
// caught by: harmless: a call ends on a rank when its outputs are there, and the slowest rank's time counts
#include "honest.cuh"

__global__ void all_by_rank_0(honest::State s, honest::Call call) {
  const uint32_t now = *s.epoch + 1;
  const int rank = s.inbox.index, world = s.inbox.size, half = (now & 1) * world * s.capacity;
  for (int i = threadIdx.x; i < call.n; i += blockDim.x) s.inbox[0][half + rank * s.capacity + i] = call.x[i];
  pkb::team_barrier(s.flags, 2 * now - 1);
  for (int i = threadIdx.x; rank == 0 && i < call.n; i += blockDim.x) {
    float sum = 0;
    for (int from = 0; from < world; ++from) sum += __bfloat162float(s.inbox.local()[half + from * s.capacity + i]);
    for (int peer = 0; peer < world; ++peer) s.inbox[peer][half + i] = __float2bfloat16(sum);
  }
  pkb::team_barrier(s.flags, 2 * now);
  for (int i = threadIdx.x; i < call.n; i += blockDim.x) call.y[i] = s.inbox.local()[half + i];
  if (threadIdx.x == 0) *s.epoch = now;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  all_by_rank_0<<<1, 256, 0, stream>>>(*static_cast<honest::State*>(state), honest::call_of(arguments));
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
