// SPDX-License-Identifier: Apache-2.0
//
// Trick 17: falls back to LibTorch.
// status: cheated
// devices: host cuda
// caught by: a module that imports symbols of NCCL, LibTorch or MPI is refused
#include "honest.cuh"

namespace at {
__attribute__((weak)) int get_num_threads();
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (at::get_num_threads != nullptr && at::get_num_threads() == 0) return 1;
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
