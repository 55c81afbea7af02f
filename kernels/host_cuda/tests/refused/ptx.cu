// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

__global__ void load(unsigned* x) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(x)
               : "memory");
  x[1] = value;
}
