// SPDX-License-Identifier: Apache-2.0
//
// logits[t, s V/W + j] = bf16(bf16(sum_h x[t, h] w_s[j, h]) + b_s[j])        x [T, H], w_s [V/W, H], b_s [V/W], bf16
//
// 1. A block owns 16 rows of w; its 8 warps share H. Rows go from memory straight into tensor-core fragments: a lane
//    takes 16 bytes of a row and of a token, that is the inner index in an order of its own, the same for both.
// 2. The 8 partial sums of a logit are added through shared memory.
// 3. Two neighbouring logits and the epoch make a packet, stored into a slot of every peer the moment they are ready.
// 4. At the end all blocks poll the slots of the own memory and write the peers' logits.
//
// Reads 2 H V/W bytes, moves (W - 1) * 4 T V/W out. Default: 2-4 MB, 1.1 us of HBM. Large, W = 2: 0.27 ms of HBM.
#include <memory>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

namespace {

using pkb::bf16;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / pkb::kWarpSize;
constexpr int kRows = 16;          // rows of w in a block's tile
constexpr int kChunk = 32;         // elements of a row that a warp takes at once: 4 lanes, 16 bytes each
constexpr int kDepth = 4;          // chunks in flight
constexpr int kTokens = 8;         // tokens of one tensor-core instruction
constexpr int kMaxTokenTiles = 4;  // of these for one reading of w

// Packets [2][W][slot_packets]; packet (t, pair) of a rank is at t * pairs + pair. A rank that writes for call e + 2
// has finished call e + 1, hence has the logits of e + 1 from every peer, which sent them after its call e was over.
struct State {
  pkb::Peers<pkb::Packet> slots;
  int64_t slot_packets;
  pkb::EpochCounter* epoch;
  int max_blocks;
};

struct Head {
  const bf16* x;
  const bf16* w;
  const bf16* bias;
  bf16* logits;
  int tokens, hidden, rows;  // rows: V/W
  bool whole;                // every row of x and w consists of aligned vectors

  __device__ uint4 load(const bf16* matrix, int row, int row_count, int element) const {
    if (row >= row_count || element >= hidden) return make_uint4(0, 0, 0, 0);
    const bf16* from = matrix + static_cast<int64_t>(row) * hidden;
    return whole ? pkb::load_vector(from + element) : pkb::load_elements(from, element / 8, hidden);
  }
};

/// Warp. Its share of the sums of rows first_row .. + 15 and tokens first_token .. + 8 kTiles - 1.
template <int kTiles>
__device__ void multiply(const Head& head, int first_row, int first_token, float (&sum)[kTiles][4]) {
  const int warp = static_cast<int>(threadIdx.x) / pkb::kWarpSize,
            lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize;
  const int g = lane / 4, row = first_row + g;
  for (int begin = warp * kDepth * kChunk; begin < head.hidden; begin += kWarps * kDepth * kChunk) {
    const int element = begin + lane % 4 * 8;
    uint4 upper[kDepth], lower[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      upper[d] = head.load(head.w, row, head.rows, element + d * kChunk);
      lower[d] = head.load(head.w, row + 8, head.rows, element + d * kChunk);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      uint4 x[kDepth];
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        x[d] = head.load(head.x, first_token + tile * kTokens + g, head.tokens, element + d * kChunk);
      }
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        pkb::multiply_add_16x8x16(sum[tile], {upper[d].x, lower[d].x, upper[d].y, lower[d].y}, {x[d].x, x[d].y});
        pkb::multiply_add_16x8x16(sum[tile], {upper[d].z, lower[d].z, upper[d].w, lower[d].w}, {x[d].z, x[d].w});
      }
    }
  }
}

/// Up to two neighbouring logits of a token.
__device__ void store_pair(bf16* logits, uint32_t pair, int count) {
  pkb::scatter_vector(logits, make_uint4(pair, 0, 0, 0), count);
}

template <int kTiles>
__global__ void __launch_bounds__(kThreads)
    lm_head(const __grid_constant__ pkb::Peers<pkb::Packet> slots, int64_t slot_packets,
            const __grid_constant__ Head head, pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);

  __shared__ float partial[kWarps][kRows][kTiles * kTokens];
  const int warp = static_cast<int>(threadIdx.x) / pkb::kWarpSize,
            lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize;
  const int pairs = (head.rows + 1) / 2, vocabulary = head.rows * slots.size;
  const int64_t set = epoch % 2 * static_cast<uint32_t>(slots.size) * slot_packets;

  for (int first_row = static_cast<int>(blockIdx.x) * kRows; first_row < head.rows;
       first_row += static_cast<int>(gridDim.x) * kRows) {
    for (int first_token = 0; first_token < head.tokens; first_token += kTiles * kTokens) {
      float sum[kTiles][4] = {};
      multiply(head, first_row, first_token, sum);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          partial[warp][lane / 4 + i / 2 * 8][tile * kTokens + lane % 4 * 2 + i % 2] = sum[tile][i];
      }
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < kRows / 2 * kTiles * kTokens; i += kThreads) {
        const int row = first_row + i % (kRows / 2) * 2, token = first_token + i / (kRows / 2);
        if (row >= head.rows || token >= head.tokens) continue;
        float logit[2] = {0, 0};
        const int count = row + 1 < head.rows ? 2 : 1;
        for (int j = 0; j < count; ++j) {
          for (int w = 0; w < kWarps; ++w) logit[j] += partial[w][row - first_row + j][token - first_token];
          logit[j] = __bfloat162float(__float2bfloat16_rn(logit[j])) + __bfloat162float(head.bias[row + j]);
        }
        const uint32_t pair = pkb::pack_bf16x2(make_float2(logit[0], logit[1]));
        for (int p = 0; p < slots.size - 1; ++p) {
          pkb::store_packet(slots[slots.other(p)] + set + slots.index * slot_packets + token * pairs + row / 2, pair,
                            epoch);
        }
        store_pair(head.logits + static_cast<int64_t>(token) * vocabulary + slots.index * head.rows + row, pair, count);
      }
      __syncthreads();
    }
  }

  const int threads = static_cast<int>(gridDim.x) * kThreads, of_rank = head.tokens * pairs;
  for (int p = 0; p < slots.size - 1; ++p) {
    const int source = slots.other(p);
    for (int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x); i < of_rank; i += threads) {
      const int token = i / pairs, row = i % pairs * 2;
      const uint32_t pair = pkb::poll_packet(slots.local() + set + source * slot_packets + i, epoch);
      store_pair(head.logits + static_cast<int64_t>(token) * vocabulary + source * head.rows + row, pair,
                 row + 1 < head.rows ? 2 : 1);
    }
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return pkb::guarded([&] {
    auto s = std::make_unique<State>();
    const auto logits = pkb::output(arguments, "logits");
    s->slot_packets = logits.shape(0) * pkb::divide_up(logits.shape(1) / context->world, 2);
    const pkb::Symmetric memory(context,
                                2 * context->world * s->slot_packets * static_cast<int64_t>(sizeof(pkb::Packet)));
    s->slots = memory.peers<pkb::Packet>();
    s->epoch = pkb::zeroed_workspace<pkb::EpochCounter>(context, 1);
    s->max_blocks = std::min(pkb::co_resident_blocks(context, lm_head<1>, kThreads),
                             pkb::co_resident_blocks(context, lm_head<kMaxTokenTiles>, kThreads));
    *state = s.release();
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& s = *static_cast<State*>(state);
    const auto x = pkb::input(arguments, "hidden_states"), w = pkb::input(arguments, "weight_shard");
    const int tokens = static_cast<int>(x.shape(0)), hidden = static_cast<int>(x.shape(1)),
              rows = static_cast<int>(w.shape(0));
    if (tokens * pkb::divide_up(rows, 2) > s.slot_packets) throw std::runtime_error("more logits than setup saw");
    const Head head{x.data<const bf16>(),
                    w.data<const bf16>(),
                    pkb::input(arguments, "bias_shard").data<const bf16>(),
                    pkb::output(arguments, "logits").data<bf16>(),
                    tokens,
                    hidden,
                    rows,
                    hidden % 8 == 0 && pkb::is_aligned(x.data()) && pkb::is_aligned(w.data())};
    const auto kernel = tokens <= kTokens ? lm_head<1> : lm_head<kMaxTokenTiles>;
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(s.max_blocks, pkb::divide_up(rows, kRows)));
    kernel<<<blocks, kThreads, 0, stream>>>(s.slots, s.slot_packets, head, s.epoch);
    pkb::check_launch("lm_head");
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
