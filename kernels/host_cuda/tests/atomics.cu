// SPDX-License-Identifier: Apache-2.0
//
// Atomic functions of every type and kind from many blocks, and cuda::atomic_ref.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cuda/atomic>

struct Cells {
  int added, subtracted, smallest, largest, ored, anded, xored, exchanged, swapped;
  unsigned wrapped, unwrapped, by_reference, flagged;
  unsigned long long wide;
  float real;
  double precise;
  __nv_bfloat162 pair;
  __half half;
  __half padding;
};

__global__ void all_atomics(Cells* c) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&c->added, 1);
  atomicSub(&c->subtracted, 2);
  atomicMin(&c->smallest, i - 5);
  atomicMax(&c->largest, i);
  atomicOr(&c->ored, 1 << (i % 31));
  atomicAnd(&c->anded, ~(1 << (i % 31)));
  atomicXor(&c->xored, i);
  atomicExch(&c->exchanged, 7);
  atomicInc(&c->wrapped, 9u);
  atomicDec(&c->unwrapped, 9u);
  atomicAdd_system(&c->wide, 1ull << 33);
  atomicAdd(&c->real, 0.5f);
  atomicAdd_block(&c->precise, 0.25);
  if (i < 8) {
    atomicAdd(&c->pair, __floats2bfloat162_rn(1, 2));
    atomicAdd(&c->half, __float2half(1));
  }
  int old = c->swapped, seen;
  do {
    seen = old;
    old = atomicCAS(&c->swapped, seen, seen + 3);
  } while (old != seen);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(c->by_reference);
  counter.fetch_add(1, cuda::memory_order_relaxed);
  // One thread of the grid sets, all others wait.
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> flag(c->flagged);
  if (i == 0) flag.store(1, cuda::std::memory_order_release);
  while (flag.load(cuda::std::memory_order_acquire) == 0) {
  }
}

extern "C" cudaError_t run_all_atomics(void* cells, int blocks, int threads) {
  all_atomics<<<blocks, threads>>>(static_cast<Cells*>(cells));
  return cudaDeviceSynchronize();
}
