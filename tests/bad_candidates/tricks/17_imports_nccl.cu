// SPDX-License-Identifier: Apache-2.0
//
// Trick 17: falls back to NCCL: the library that it is compared with.
// status: cheated
// devices: host cuda
// caught by: a module that imports symbols of NCCL, LibTorch or MPI is refused
// open: dlopen gets around it (17_dlopens_a_library.cu)
// pkb-link: nccl
#include "honest.cuh"

struct Id {
  char bytes[128];
};
extern "C" {
__attribute__((weak)) int ncclGetUniqueId(Id*);
__attribute__((weak)) int ncclCommInitRank(void**, int, Id, int);
__attribute__((weak)) int ncclAllReduce(const void*, void*, size_t, int, int, void*, cudaStream_t);
}
static void* team;

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  if (ncclCommInitRank == nullptr) return honest::setup(context, arguments, state);  // not linked on host
  pkb_symmetric memory;
  if (context->symmetric_alloc(context, nullptr, sizeof(Id), &memory) != 0) return 1;
  Id id{};
  if (context->rank == 0) ncclGetUniqueId(&id);
  for (int peer = 0; context->rank == 0 && peer < context->world; ++peer) {
    cudaMemcpy(memory.peers[peer], &id, sizeof id, cudaMemcpyDefault);
  }
  context->host_barrier(context, nullptr);
  cudaMemcpy(&id, memory.local, sizeof id, cudaMemcpyDefault);
  return ncclCommInitRank(&team, context->world, id, context->rank);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  if (team == nullptr) return honest::run(state, arguments, stream);
  const honest::Call call = honest::call_of(arguments);
  return ncclAllReduce(call.x, call.y, static_cast<size_t>(call.n), 9, 0, team, stream);  // bf16, sum
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
