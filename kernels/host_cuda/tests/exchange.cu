// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce of ranks that share memory, in two spellings of the same protocol: acquire and release through the
// toolkit's twins, and volatile accesses with fences. Each block has a flag a rank and round.
#include <cuda_runtime.h>
#include <pkb/device.cuh>

struct Shared {
  unsigned* flags[8];  // [blocks] of each rank
  float* slots[8];     // [elements] of each rank
  int rank, world;
};

__device__ void signal_and_wait(const Shared& s, unsigned epoch, bool by_fence) {
  __syncthreads();
  if (threadIdx.x < s.world) {
    unsigned* own = s.flags[s.rank] + blockIdx.x;
    const unsigned* peer = s.flags[threadIdx.x] + blockIdx.x;
    if (by_fence) {
      if (threadIdx.x == s.rank) {
        __threadfence_system();
        *static_cast<volatile unsigned*>(own) = epoch;
      }
      while (static_cast<int>(*static_cast<const volatile unsigned*>(peer) - epoch) < 0) {
      }
      __threadfence_system();
    } else {
      if (threadIdx.x == s.rank) pkb::signal(own, epoch);
      pkb::wait(peer, epoch);
    }
  }
  __syncthreads();
}

__global__ void all_reduce(Shared s, const float* x, float* y, int n, unsigned first_epoch, int rounds, bool by_fence) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < rounds; ++round) {
    if (i < n) s.slots[s.rank][i] = x[i] + static_cast<float>(round);
    signal_and_wait(s, first_epoch + 2 * round, by_fence);
    if (i < n) {
      float sum = 0;
      for (int rank = 0; rank < s.world; ++rank) sum += s.slots[rank][i];
      y[i] = sum;
    }
    signal_and_wait(s, first_epoch + 2 * round + 1, by_fence);
  }
}

extern "C" cudaError_t run_all_reduce(void** flags, void** slots, int rank, int world, const float* x, float* y, int n,
                                      unsigned first_epoch, int rounds, int by_fence) {
  Shared s{};
  for (int r = 0; r < world; ++r) {
    s.flags[r] = static_cast<unsigned*>(flags[r]);
    s.slots[r] = static_cast<float*>(slots[r]);
  }
  s.rank = rank;
  s.world = world;
  all_reduce<<<(n + 63) / 64, 64>>>(s, x, y, n, first_epoch, rounds, by_fence != 0);
  return cudaDeviceSynchronize();
}
