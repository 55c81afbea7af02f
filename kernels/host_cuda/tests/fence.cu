// SPDX-License-Identifier: Apache-2.0
//
// This one compiles: an empty statement is no PTX.
#include <cuda_runtime.h>

__global__ void keep_order(int* x) {
  x[0] = 1;
  asm volatile("" ::: "memory");
  x[1] = 1;
}
