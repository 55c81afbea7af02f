// SPDX-License-Identifier: Apache-2.0
//
// Warp operations: shuffles of all kinds, votes, matches, reductions, partial masks, __activemask, groups of
// cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr unsigned kAll = 0xffffffffu;

// One row a warp.
__global__ void softmax_rows(const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  float largest = -INFINITY;
  for (int i = lane; i < columns; i += warpSize) largest = fmaxf(largest, x[row * columns + i]);
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) largest = fmaxf(largest, __shfl_xor_sync(kAll, largest, mask));
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += __expf(x[row * columns + i] - largest);
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(kAll, sum, delta);
  sum = __shfl_sync(kAll, sum, 0);
  for (int i = lane; i < columns; i += 32) y[row * columns + i] = __expf(x[row * columns + i] - largest) / sum;
}

enum Result {
  kUp,
  kDownOfEight,
  kBallot,
  kAny,
  kEvery,
  kMatchAny,
  kMatchAll,
  kAdd,
  kMin,
  kMaxUnsigned,
  kXor,
  kHalfWarp,
  kActive,
  kTileSum,
  kTileRank,
  kDouble,
  kBfloat,
  kCoalesced,
  kResults
};

__global__ void every_operation(int* out) {
  const int lane = threadIdx.x % 32;
  int* mine = out + threadIdx.x * kResults;
  mine[kUp] = __shfl_up_sync(kAll, lane, 3);
  mine[kDownOfEight] = __shfl_down_sync(kAll, lane, 2, 8);
  mine[kBallot] = static_cast<int>(__ballot_sync(kAll, lane % 3 == 0));
  mine[kAny] = __any_sync(kAll, lane == 7);
  mine[kEvery] = __all_sync(kAll, lane < 31);
  mine[kMatchAny] = static_cast<int>(__match_any_sync(kAll, lane / 5));
  int all = 0;
  mine[kMatchAll] = static_cast<int>(__match_all_sync(kAll, 4, &all)) + all;
  mine[kAdd] = __reduce_add_sync(kAll, lane);
  mine[kMin] = __reduce_min_sync(kAll, 5 - lane);
  mine[kMaxUnsigned] = static_cast<int>(__reduce_max_sync(kAll, 5u - static_cast<unsigned>(lane)));
  mine[kXor] = static_cast<int>(__reduce_xor_sync(kAll, 1u << lane));
  // Two halves with masks of their own, at the same time.
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  int sum = lane;
  for (int mask = 8; mask > 0; mask /= 2) sum += __shfl_xor_sync(half, sum, mask);
  mine[kHalfWarp] = sum;
  mine[kActive] = 0;
  if (lane % 2 == 0) mine[kActive] = static_cast<int>(__activemask());
  __syncwarp();
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  mine[kTileSum] = cg::reduce(tile, lane, cg::plus<int>());
  mine[kTileRank] = static_cast<int>(tile.thread_rank() + 100 * tile.meta_group_rank());
  mine[kDouble] = static_cast<int>(__shfl_sync(kAll, 1e10 + lane, 9) - 1e10);
  mine[kBfloat] = static_cast<int>(__bfloat162float(__shfl_xor_sync(kAll, __float2bfloat16(lane), 1)));
  mine[kCoalesced] = -1;
  if (lane >= 20) {
    const auto group = cg::coalesced_threads();
    mine[kCoalesced] = static_cast<int>(group.size() * 100 + group.thread_rank());
  }
}

extern "C" cudaError_t run_softmax(const float* x, float* y, int rows, int columns) {
  const dim3 block(32, 4);
  softmax_rows<<<(rows + 3) / 4, block>>>(x, y, rows, columns);
  return cudaDeviceSynchronize();
}

extern "C" int result_count() {
  return kResults;
}

extern "C" cudaError_t run_every_operation(int* out, int threads) {
  every_operation<<<1, threads>>>(out);
  return cudaDeviceSynchronize();
}
