// SPDX-License-Identifier: Apache-2.0
//
// Trick 33: a global of the device keeps the first answer, and is handed out in later calls.
// status: mismatch
// devices: host cuda
// caught by: every draw is new, and each candidate has a process of its own
#include "honest.cuh"

__device__ honest::bf16 kept[1 << 20];
__device__ int is_kept;

__global__ void replay(honest::Call call) {
  const bool known = is_kept != 0;
  for (int i = threadIdx.x; i < call.n; i += blockDim.x) known ? call.y[i] = kept[i] : kept[i] = call.y[i];
  __syncthreads();
  if (threadIdx.x == 0) is_kept = 1;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::run(state, arguments, stream);
  replay<<<1, 256, 0, stream>>>(honest::call_of(arguments));
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
