// SPDX-License-Identifier: Apache-2.0
//
// A kernel of rank 1 never ends. Must get: timeout, naming rank 1.
#include <pkb/candidate.h>

__global__ void spin_for_ever(volatile int* never) {
  while (*never == 0) {
  }
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void** state) {
  *state = nullptr;
  if (context->rank != 1) return 0;
  int* flag = nullptr;
  const int failed = cudaMalloc(&flag, sizeof(int)) != cudaSuccess || cudaMemset(flag, 0, sizeof(int)) != cudaSuccess;
  *state = flag;
  return failed;
}

extern "C" int pkb_run(void* state, const pkb_arguments*, cudaStream_t stream) {
  if (state) spin_for_ever<<<1, 1, 0, stream>>>(static_cast<volatile int*>(state));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
