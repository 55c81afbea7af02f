// SPDX-License-Identifier: Apache-2.0
//
// Trick 14: pins its input in the part of L2 that a flush does not evict.
// status: passed
// devices: cuda
// caught by: harmless in stream and graph mode: persisting lines are reset before every loop and each call has
//   a draw of its own
// open: isolated mode resets persisting lines before the loop, not before each call: a first call that touches
//   the inputs of all draws would keep them through the flushes.
#include "honest.cuh"

static int most;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
#ifndef PKB_HOST_CUDA
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most);
#endif
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
#ifndef PKB_HOST_CUDA
  const honest::Call call = honest::call_of(arguments);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = const_cast<honest::bf16*>(call.x);
  value.accessPolicyWindow.num_bytes = static_cast<size_t>(2 * call.n);
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
#endif
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
