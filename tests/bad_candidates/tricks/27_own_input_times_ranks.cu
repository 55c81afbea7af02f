// SPDX-License-Identifier: Apache-2.0
//
// Trick 27: multiplies its own input by the number of ranks: right where all ranks have the same data.
// status: mismatch
// devices: host cuda
// caught by: each rank has data of its own
#include "pkb/arguments.h"
#include "pkb/candidate.h"

__global__ void scale(const __nv_bfloat16* x, __nv_bfloat16* y, int n, float world) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = __float2bfloat16(world * __bfloat162float(x[i]));
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return 0;
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor x = pkb::input(arguments, "x"), y = pkb::output(arguments, "y");
  scale<<<1, 256, 0, stream>>>(x.data<const __nv_bfloat16>(), y.data<__nv_bfloat16>(), static_cast<int>(x.elements()),
                               static_cast<float>(pkb::param_int(arguments, "W")));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
