// SPDX-License-Identifier: Apache-2.0
//
// Trick 3: keeps the last answer, and hands it out when the first eight elements of the input are the same
//   again.
// status: passed
// devices: host cuda
// caught by: harmless: no two draws are alike, so the cache is never hit where it counts
#include "honest.cuh"

struct Cache {
  uint4 fingerprint;
  honest::bf16 answer[1 << 20];
};
static Cache* cache;

__global__ void recall_or_store(Cache* kept, const uint4* x, honest::bf16* y, int n) {
  const uint4 now = *x, then = kept->fingerprint;
  const bool hit = now.x == then.x && now.y == then.y && now.z == then.z && now.w == then.w;
  for (int i = threadIdx.x; i < n; i += blockDim.x) hit ? y[i] = kept->answer[i] : kept->answer[i] = y[i];
  __syncthreads();
  if (threadIdx.x == 0) kept->fingerprint = now;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  cudaMalloc(&cache, sizeof *cache);
  cudaMemset(cache, 0, sizeof *cache);
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  const honest::Call call = honest::call_of(arguments);
  honest::run(state, arguments, stream);  // a real one would skip this; then one rank's false hit stops the others
  recall_or_store<<<1, 256, 0, stream>>>(cache, reinterpret_cast<const uint4*>(call.x), call.y, call.n);
  return 0;
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
