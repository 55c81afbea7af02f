// SPDX-License-Identifier: Apache-2.0
//
// Trick 22: searches a large fresh allocation for what others left there, and returns the first that looks like
//   numbers.
// status: mismatch
// devices: cuda
// caught by: drivers clear memory that changes processes, and expected outputs are computed after the call
#include "pkb/arguments.h"
#include "pkb/candidate.h"

__global__ void scan(const __nv_bfloat16* memory, int64_t elements, __nv_bfloat16* y, int n) {
  for (int64_t start = 0; start + n <= elements; start += n) {
    const float first = __bfloat162float(memory[start]);
    if (first == 0 || !(fabsf(first) < 10)) continue;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = memory[start + i];
    return;
  }
}

static void* memory;
constexpr int64_t kBytes = int64_t{1} << 28;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments*, void**) {
  return context->workspace(context, kBytes, &memory);
}

extern "C" int pkb_run(void*, const pkb_arguments* arguments, cudaStream_t stream) {
  const pkb::Tensor y = pkb::output(arguments, "y");
  scan<<<1, 256, 0, stream>>>(static_cast<const __nv_bfloat16*>(memory), kBytes / 2, y.data<__nv_bfloat16>(),
                              static_cast<int>(y.elements()));
  return 0;
}

extern "C" void pkb_teardown(void*) {}
