// SPDX-License-Identifier: Apache-2.0
//
// Trick 8: adds to its output without setting it to zero first: memory was always zero where it was written.
// status: mismatch
// devices: host cuda
// caught by: outputs are poisoned with NaN, or with a large number, never with zeros
#include "honest.cuh"

__global__ void add(honest::bf16* y, const honest::bf16* sum, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = __float2bfloat16(__bfloat162float(y[i]) + __bfloat162float(sum[i]));
}

static honest::bf16* sum;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  cudaMalloc(&sum, 2 * pkb::output(arguments, "y").capacity());
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  honest::Call call = honest::call_of(arguments);
  honest::launch(*static_cast<honest::State*>(state), {call.x, sum, call.n}, stream);
  add<<<1, 256, 0, stream>>>(call.y, sum, call.n);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
