// SPDX-License-Identifier: Apache-2.0
//
// C_r = rows r M/W .. of sum_s A_s B_s        A_s [M, K/W], B_s [K/W, N], C_r [M/W, N], bf16
//
// 1. P = A B on this rank, bf16, private (cuBLASLt).
// 2. One kernel: store row block p of P into slot r of rank p, tile by tile, with a flag a tile ...
// 3. ... and one tile behind, wait for the W - 1 slots of the own block, add them to it in fp32 in rank order, round once.
//
// Moves (W - 1)/W * 2 M N bytes out. Default, W = 4: 1.57 MB, 4.3 us of NVLink, 0.3 us of tensor cores; large: 1.2 ms of
// tensor cores, 0.28 ms of NVLink.
// pkb-link: cublasLt
#include "pkb/gemm.h"

namespace {

using pkb::bf16;

constexpr int kThreads = 512;

struct State {
  pkb::Gemm gemm;
  pkb::Parts parts;
  bf16* partial;  // [M, N]
  pkb::EpochCounter* epoch;
  int max_blocks;
};

__global__ void __launch_bounds__(kThreads)
    scatter_and_add(pkb::Parts parts, const bf16* partial, bf16* c, int64_t part_elements, pkb::TilePlan plan,
                    pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  const bf16* own = partial + parts.slots.index * part_elements;
  for (int step = 0; step <= plan.steps; ++step) {
    if (step < plan.steps) {
      pkb::push_tile(parts, partial, part_elements, pkb::tile_of(step, plan.tile_elements, part_elements), step, epoch);
    }
    if (step > 0) {
      pkb::add_tile(parts, own, pkb::tile_of(step - 1, plan.tile_elements, part_elements), step - 1, epoch,
                    [c](int64_t at, uint4 sum, int count) { pkb::store_elements(c + at, sum, count); });
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return pkb::guarded([&] {
    auto s = std::make_unique<State>();
    const int64_t part = pkb::output(arguments, "C_local").capacity();
    s->gemm.setup(context);
    s->partial = pkb::workspace<bf16>(context, part * context->world);
    s->epoch = pkb::zeroed_workspace<pkb::EpochCounter>(context, 1);
    s->max_blocks = std::min(pkb::co_resident_blocks(context, scatter_and_add, kThreads), context->device.sm_count);

    const int64_t slot = 8 * pkb::divide_up(part, 8);
    pkb::Layout layout;
    const int64_t slots = layout.add<bf16>(2 * context->world * slot);
    const int64_t flags = layout.add<uint32_t>(s->max_blocks * pkb::kMaxRanks);
    const pkb::Symmetric memory(context, layout.bytes());
    s->parts = {memory.peers<bf16>(slots), memory.peers<uint32_t>(flags), slot};
    *state = s.release();
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    auto& s = *static_cast<State*>(state);
    const auto a = pkb::input(arguments, "A_local"), b = pkb::input(arguments, "B_local");
    const auto c = pkb::output(arguments, "C_local");
    const int64_t m = a.shape(0), k = a.shape(1), n = b.shape(1), part = c.elements();
    s.gemm.run<bf16>(stream, {a.data<const bf16>(), m, k}, {b.data<const bf16>(), k, n}, {s.partial, m, n});
    const auto plan = pkb::plan_tiles(part, kThreads, s.max_blocks);
    scatter_and_add<<<plan.blocks, kThreads, 0, stream>>>(s.parts, s.partial, c.data<bf16>(), part, plan, s.epoch);
    pkb::check_launch("scatter_and_add");
  });
}

extern "C" void pkb_teardown(void* state) { delete static_cast<State*>(state); }
