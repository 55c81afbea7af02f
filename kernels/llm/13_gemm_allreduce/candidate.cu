// SPDX-License-Identifier: Apache-2.0
//
// y = sum_s A_s B_s        A_s [M, K], B_s [K, N], y [M, N], bf16; every rank gets y, in the same bits
//
// 1. P = A B on this rank, bf16, private (cuBLASLt).
// 2. W = 2, or little data: one kernel stores P whole into a slot of every peer and adds what arrives, in fp32, in rank
//    order.
// 3. Else two shots in one kernel, each a tile behind the one before: store part p of P into a slot of rank p; add the
//    own part and store the sum to everybody; copy the sums that arrive to y.
//
// Moves (W - 1) * 2 M N bytes out in one shot, 2 (W - 1)/W * 2 M N in two. Default: 1.4 us of tensor cores and, W = 2,
// 2.1 MB, 5.7 us of NVLink, W = 4, 3.1 MB, 8.6 us. Large, W = 8: 0.61 ms of tensor cores, 0.64 ms of NVLink.
//
// pkb-link: cublasLt
#include "pkb/gemm.h"

namespace {

using pkb::bf16;
using pkb::Tile;

constexpr int kThreads = 512;
// The second shot costs some 1.5 us, or half a megabyte on the link.
constexpr int64_t kExtraBytes = 512 << 10;

struct State {
  pkb::Gemm gemm;
  pkb::Slots summands, sums;
  bf16* partial;  // [M, N]
  pkb::EpochCounter* epoch;
  int world;
  int max_blocks;
};

/// Up to how many elements sending everything to everybody costs less than a second shot.
int64_t one_shot_limit(int64_t world) {
  return world == 2 ? INT64_MAX : kExtraBytes / 2 * world / ((world - 1) * (world - 2));
}

/// Elements of one rank's part in two shots: whole vectors, the last part may be shorter.
int64_t part_length(int64_t elements, int64_t world) {
  return 8 * pkb::divide_up(elements, 8 * world);
}

__global__ void __launch_bounds__(kThreads) add_all(const __grid_constant__ pkb::Slots summands, const bf16* partial,
                                                    bf16* y, pkb::Plan plan, pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  for (int step = 0; step <= plan.steps; ++step) {
    if (step < plan.steps) pkb::push_parts(summands, partial, plan, step, epoch);
    if (step > 0) {
      pkb::add_parts(summands, partial, plan, step - 1, epoch,
                     [y](Tile tile, int64_t i, uint4 v) { pkb::store_elements(y + tile.begin, i, tile.count, v); });
    }
  }
  if (threadIdx.x == 0) pkb::advance_epoch(counter);
}

__global__ void __launch_bounds__(kThreads)
    reduce_and_gather(const __grid_constant__ pkb::Slots summands, const __grid_constant__ pkb::Slots sums,
                      const bf16* partial, bf16* y, pkb::Plan plan, pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  const int me = sums.me(), others = sums.world() - 1;
  for (int step = 0; step < plan.steps + 2; ++step) {
    if (step < plan.steps) pkb::push_parts(summands, partial, plan, step, epoch);
    if (step >= 1 && step <= plan.steps) {
      pkb::add_parts(summands, partial, plan, step - 1, epoch, [&](Tile tile, int64_t i, uint4 v) {
        for (int p = 0; p < others; ++p) {
          pkb::store_vector(sums.slot(sums.memory.other(p), me, epoch) + tile.begin + 8 * i, v);
        }
        pkb::store_elements(y + me * plan.stride + tile.begin, i, tile.count, v);
      });
      pkb::announce(sums, step - 1, epoch);
    }
    if (step >= 2) {
      pkb::await_peers(sums, step - 2, epoch);
      for (int i = 0; i < others; ++i) {
        const int peer = sums.memory.other(i);
        const Tile tile = plan.tile_of(peer, step - 2);
        pkb::copy_block(y + peer * plan.stride + tile.begin, sums.slot(me, peer, epoch) + tile.begin, tile.count);
      }
    }
  }
  if (threadIdx.x == 0) pkb::advance_epoch(counter);
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return pkb::guarded([&] {
    auto s = std::make_unique<State>();
    s->world = context->world;
    s->max_blocks = std::min({pkb::co_resident_blocks(context, add_all, kThreads),
                              pkb::co_resident_blocks(context, reduce_and_gather, kThreads), context->device.sm_count});
    const int64_t elements = pkb::output(arguments, "y").capacity();
    s->gemm.setup(context);
    s->partial = pkb::workspace<bf16>(context, elements);
    const int64_t part = part_length(elements, s->world);
    const int64_t whole = std::min(elements, one_shot_limit(s->world));
    s->summands = pkb::Slots::allocate(context, std::max(part, whole), s->max_blocks);
    s->sums = pkb::Slots::allocate(context, whole < elements ? part : 0, s->max_blocks);
    s->epoch = pkb::zeroed_workspace<pkb::EpochCounter>(context, 1);
    *state = s.release();
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    auto& s = *static_cast<State*>(state);
    const auto a = pkb::input(arguments, "A_local"), b = pkb::input(arguments, "B_local");
    const auto y = pkb::output(arguments, "y");
    const int64_t m = a.shape(0), k = a.shape(1), n = b.shape(1), elements = m * n;
    s.gemm.run<bf16>(stream, {a.data<const bf16>(), m, k}, {b.data<const bf16>(), k, n}, {s.partial, m, n});
    if (elements <= one_shot_limit(s.world)) {
      const pkb::Plan plan(elements, elements, 0, kThreads, s.max_blocks);
      add_all<<<static_cast<unsigned>(plan.blocks), kThreads, 0, stream>>>(s.summands, s.partial, y.data<bf16>(), plan,
                                                                           s.epoch);
      pkb::check_launch("add_all");
    } else {
      const int64_t part = part_length(elements, s.world);
      const pkb::Plan plan(elements, part, part, kThreads, s.max_blocks);
      reduce_and_gather<<<static_cast<unsigned>(plan.blocks), kThreads, 0, stream>>>(s.summands, s.sums, s.partial,
                                                                                     y.data<bf16>(), plan, s.epoch);
      pkb::check_launch("reduce_and_gather");
    }
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
