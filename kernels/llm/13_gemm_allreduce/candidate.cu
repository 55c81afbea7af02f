// SPDX-License-Identifier: Apache-2.0
//
// y = sum_s A_s B_s        A_s [M, K], B_s [K, N], y [M, N], bf16; every rank gets y, in the same bits
//
// 1. P = A B on this rank, bf16, private (cuBLASLt).
// 2. Small, or W = 2: one kernel stores P whole into a slot of every peer, and adds the W summands in rank order in fp32.
// 3. Else two shots in one kernel, three tiles deep: store part p of P into a slot of rank p; add the own part's summands in
//    rank order and store the sum to everybody; copy what arrives to y.
// 4. A flag a tile, source and shot; slots alternate by the call's parity.
//
// Moves (W - 1) * 2 M N bytes out in one shot, 2 (W - 1)/W * 2 M N in two. Default: W = 2 2.1 MB, 5.7 us of NVLink; W = 4 3.1 MB,
// 8.6 us; 1.4 us of tensor cores.
// pkb-link: cublasLt
#include "pkb/gemm.h"

namespace {

using pkb::bf16;
using pkb::Tile;

constexpr int kThreads = 512;
// The second shot costs some 1.5 us, half a megabyte on the link: what the first one may send more than both together.
constexpr int64_t kExtraBytes = 512 << 10;

struct State {
  pkb::Gemm gemm;
  pkb::Parts summands, sums;
  bf16* partial;  // [M, N]
  pkb::EpochCounter* epoch;
  int world;
  int max_blocks;
};

bool one_shot(int64_t elements, int world) {
  const int64_t w = world;
  return 2 * elements * (w - 1) * (w - 2) / w <= kExtraBytes;
}

__global__ void __launch_bounds__(kThreads)
    add_all(pkb::Parts summands, const bf16* partial, bf16* y, int64_t elements, pkb::TilePlan plan, pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  for (int step = 0; step <= plan.steps; ++step) {
    if (step < plan.steps) {
      pkb::push_tile(summands, partial, 0, pkb::tile_of(step, plan.tile_elements, elements), step, epoch);
    }
    if (step > 0) {
      pkb::add_tile(summands, partial, pkb::tile_of(step - 1, plan.tile_elements, elements), step - 1, epoch,
                    [y](int64_t at, uint4 sum, int count) { pkb::store_elements(y + at, sum, count); });
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);
}

/// The tile of part `rank`, which may be shorter than the others or empty.
__device__ Tile tile_of_part(int rank, int step, const pkb::TilePlan& plan, int64_t part, int64_t elements) {
  const int64_t left = elements - rank * part;
  return pkb::tile_of(step, plan.tile_elements, left < 0 ? 0 : left < part ? left : part);
}

/// Block. Waits for the step's sums of every peer's part and copies them to y.
__device__ void collect_tile(const pkb::Parts& sums, bf16* y, int step, const pkb::TilePlan& plan, int64_t part, int64_t elements,
                             uint32_t epoch) {
  const int me = sums.slots.index, source = static_cast<int>(threadIdx.x);
  if (source < sums.slots.size && source != me) {
    pkb::wait(sums.flag(me, source), epoch * pkb::kMaxSteps + static_cast<uint32_t>(step));
  }
  __syncthreads();
  for (int i = 0; i < sums.slots.size - 1; ++i) {
    const int peer = sums.slots.other(i);
    const Tile tile = tile_of_part(peer, step, plan, part, elements);
    pkb::copy_block(y + peer * part + tile.begin, sums.slot(me, peer, epoch) + tile.begin, tile.count);
  }
}

__global__ void __launch_bounds__(kThreads)
    reduce_and_gather(pkb::Parts summands, pkb::Parts sums, const bf16* partial, bf16* y, int64_t part, int64_t elements,
                      pkb::TilePlan plan, pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  const int me = sums.slots.index, world = sums.slots.size;
  for (int step = 0; step < plan.steps + 2; ++step) {
    if (step < plan.steps) {
      pkb::push_tile(summands, partial, part, [&](int peer) { return tile_of_part(peer, step, plan, part, elements); }, step, epoch);
    }
    if (step >= 1 && step <= plan.steps) {
      const auto store = [&](int64_t at, uint4 sum, int count) {
        pkb::store_elements(y + me * part + at, sum, count);
        for (int i = 0; i < world - 1; ++i) pkb::store_vector(sums.slot(sums.slots.other(i), me, epoch) + at, sum);
      };
      pkb::add_tile(summands, partial + me * part, tile_of_part(me, step - 1, plan, part, elements), step - 1, epoch, store);
      pkb::announce_tile(sums, step - 1, epoch);
    }
    if (step >= 2) collect_tile(sums, y, step - 2, plan, part, elements, epoch);
  }
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);
}

}  // namespace
