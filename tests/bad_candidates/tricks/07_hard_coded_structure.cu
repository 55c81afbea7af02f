// SPDX-License-Identifier: Apache-2.0
//
// Trick 7: takes the matrix B for the identity, the same on all ranks: W times the first columns of A.
// status: mismatch
// devices: host cuda
// caught by: both matrices are random, and each rank has its own
// problem: 13
#include "pkb/arguments.h"
#include "pkb/candidate.h"

__global__ void scale(const __nv_bfloat16* a, __nv_bfloat16* y, int n, int k, float world) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[blockIdx.x * n + i] = __float2bfloat16(world * __bfloat162float(a[blockIdx.x * k + i % k]));
  }
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor a = pkb::input(arguments, "A_local"), y = pkb::output(arguments, "y");
  scale<<<static_cast<int>(a.shape(0)), 64, 0, stream>>>(a.data<const __nv_bfloat16>(), y.data<__nv_bfloat16>(),
                                                         static_cast<int>(y.shape(1)), static_cast<int>(a.shape(1)),
                                                         static_cast<float>(pkb::param_int(arguments, "W")));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
