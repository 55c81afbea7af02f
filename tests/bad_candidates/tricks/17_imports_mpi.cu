// SPDX-License-Identifier: Apache-2.0
//
// Trick 17: falls back to MPI.
// status: cheated
// devices: host cuda
// caught by: a module that imports symbols of NCCL, LibTorch or MPI is refused; a worker is no process of the
//   MPI job anyway
#include "honest.cuh"

extern "C" __attribute__((weak)) int MPI_Initialized(int*);

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  int ready = 0;
  if (MPI_Initialized != nullptr) MPI_Initialized(&ready);
  return ready ? 1 : honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
