// SPDX-License-Identifier: Apache-2.0
//
// m[t] = max_j x[t, j] over all ranks' columns;  x <- bf16(x - m) in place
// loss[t] = log sum_j exp(x[t, j]) - x[t, target[t]]        x [tokens, V/W] on each rank, loss, bf16
//
// 1. One pass over a token's V/W columns: maximum m_r, sum s_r of exp(x - m_r), and the target's logit if it is here.
// 2. The three go to every peer as one 16-byte pair of packets, slot [own rank][token]; the peers' are polled.
// 3. m = max m_r, s = sum of s_r exp(m_r - m), taken by the same lanes in the same order on all ranks.
// 4. The columns, still in registers (up to 512: four tokens a warp; up to 65536: one a block), are shifted and stored.
//
// Moves 16 (W - 1) bytes a token out, reads and writes the logits once. Default, W = 2: 8 MB, 2.2 us of HBM, one hop of
// NVLink. Large, W = 2: 2.1 GB, 0.54 ms of HBM.
#include <memory>

#include "pkb/arguments.h"
#include "pkb/device.cuh"

namespace {

using pkb::bf16;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / pkb::kWarpSize;
constexpr int kTokens = 4;  // of a warp: 8 ranks x 4 tokens are its 32 lanes when packets travel
constexpr int kMaxThreads = 1024;
constexpr int kKept = 8;  // vectors of a wide row that a thread keeps: a block keeps 65536 columns
constexpr uint32_t kAllLanes = 0xffffffffu;

// Pairs of packets [2][W][tokens]. A rank that writes for call e + 2 has finished call e + 1, hence has heard of e + 1
// from every peer, which wrote that after its call e was over: nobody still polls what is overwritten.
struct Slots {
  pkb::Peers<pkb::PacketPair> memory;
  int64_t tokens;

  __device__ pkb::PacketPair* at(int owner, int source, uint32_t epoch, int64_t token) const {
    const int64_t slot = static_cast<int64_t>(epoch % 2) * memory.size + source;
    return memory[owner] + slot * tokens + token;
  }
};

struct State {
  Slots slots;
  pkb::EpochCounter* epoch;
  int max_blocks[3];  // of the three kernels
  int threads;        // of the last
};

struct Loss {
  bf16* x;  // [tokens, width], changed in place
  const int64_t* target;
  bf16* loss;
  int64_t tokens;
  int width;  // V/W
};

/// What is known of some columns of a token. The sum is relative to the maximum.
struct Statistics {
  float maximum, sum;
};
__device__ Statistics merge(Statistics a, Statistics b) {
  const float maximum = fmaxf(a.maximum, b.maximum);
  if (maximum == -INFINITY) return {maximum, 0};
  return {maximum, a.sum * __expf(a.maximum - maximum) + b.sum * __expf(b.maximum - maximum)};
}
__device__ Statistics merge_lanes(Statistics own, int lane_bit) {
  return merge(own, {__shfl_xor_sync(kAllLanes, own.maximum, lane_bit), __shfl_xor_sync(kAllLanes, own.sum, lane_bit)});
}

__device__ float bf16_of(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

__device__ float sum_exp(uint4 vector, float maximum) {
  const pkb::Float8 x = pkb::unpack_bf16x8(vector);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += __expf(x.v[i].x - maximum) + __expf(x.v[i].y - maximum);
  return sum;
}
__device__ uint4 shift(uint4 vector, float maximum) {
  pkb::Float8 x = pkb::unpack_bf16x8(vector);
#pragma unroll
  for (int i = 0; i < 4; ++i) x.v[i] = make_float2(x.v[i].x - maximum, x.v[i].y - maximum);
  return pkb::pack_bf16x8(x);
}

/// Warp. Lane 4 * rank + i brings this rank's statistics of token first_token + i, for i < count, whatever the rank.
/// All lanes of a token get its global maximum; the lane of rank 0 writes the loss.
__device__ float exchange(const Slots& slots, const Loss& work, int64_t first_token, int count, Statistics own,
                          uint32_t epoch) {
  const int lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize, rank = lane / kTokens, me = slots.memory.index;
  const int64_t token = first_token + lane % kTokens;
  const bool exists = rank < slots.memory.size && lane % kTokens < count;
  if (own.maximum == -INFINITY) own.sum = 0;  // nothing here; the sum is not a number
  Statistics all{-INFINITY, 0};
  float target_logit = 0;
  int owner = 0;
  if (exists) {
    const int target = static_cast<int>(work.target[token]);
    owner = target / work.width;
    if (owner == me) target_logit = __bfloat162float(work.x[token * work.width + target % work.width]);
    // The maximum and the target's logit are bf16: they share a word.
    const uint32_t logits = pkb::pack_bf16x2(make_float2(own.maximum, target_logit));
    pkb::store_packet(slots.at(rank, me, epoch, token), make_uint2(logits, __float_as_uint(own.sum)), epoch);
    const uint2 there = pkb::poll_packet(slots.at(me, rank, epoch, token), epoch);
    all = {pkb::unpack_bf16x2(there.x).x, __uint_as_float(there.y)};
    target_logit = pkb::unpack_bf16x2(there.x).y;
  }
  for (int bit = kTokens; bit < pkb::kWarpSize; bit *= 2) all = merge_lanes(all, bit);
  target_logit = __shfl_sync(kAllLanes, target_logit, owner * kTokens + lane % kTokens);
  if (exists && rank == 0) {
    work.loss[token] = __float2bfloat16_rn(bf16_of(logf(all.sum)) - bf16_of(target_logit - all.maximum));
  }
  return all.maximum;
}

/// A warp has four tokens of up to 256 kVectors aligned columns in registers.
template <int kVectors>
__global__ void __launch_bounds__(kThreads)
    rows_in_registers(const __grid_constant__ Slots slots, const __grid_constant__ Loss work,
                      pkb::EpochCounter* counter) {
  const uint32_t epoch = pkb::read_epoch(counter);
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);

  const int lane = static_cast<int>(threadIdx.x) % pkb::kWarpSize, vectors = work.width / 8;
  const int64_t warp = blockIdx.x * kWarps + threadIdx.x / pkb::kWarpSize;
  for (int64_t token = warp * kTokens; token < work.tokens; token += gridDim.x * kWarps * kTokens) {
    uint4 kept[kTokens][kVectors];
    const auto each = [&](auto function) {
#pragma unroll
      for (int t = 0; t < kTokens; ++t) {
#pragma unroll
        for (int k = 0; k < kVectors; ++k) {
          const int i = lane + k * pkb::kWarpSize;
          const bool exists = i < vectors && token + t < work.tokens;
          function(kept[t][k], exists ? work.x + (token + t) * work.width + 8 * i : nullptr, t);
        }
      }
    };
    each([](uint4& v, const bf16* at, int) { v = at != nullptr ? pkb::load_vector(at) : pkb::no_elements(); });
    Statistics own{-INFINITY, 0};
#pragma unroll
    for (int t = 0; t < kTokens; ++t) {
      float maximum = -INFINITY, sum = 0;
#pragma unroll
      for (int k = 0; k < kVectors; ++k) maximum = fmaxf(maximum, pkb::max_bf16x8(kept[t][k]));
      maximum = pkb::warp_max(maximum);
#pragma unroll
      for (int k = 0; k < kVectors; ++k) sum += sum_exp(kept[t][k], maximum);
      sum = pkb::warp_sum(sum);
      if (lane % kTokens == t) own = {maximum, sum};
    }
    const int count = static_cast<int>(work.tokens - token < kTokens ? work.tokens - token : kTokens);
    const float maximum = exchange(slots, work, token, count, own, epoch);
    float maxima[kTokens];
#pragma unroll
    for (int t = 0; t < kTokens; ++t) maxima[t] = __shfl_sync(kAllLanes, maximum, t);
    each([&](uint4& v, bf16* at, int t) {
      if (at != nullptr) pkb::store_vector(at, shift(v, maxima[t]));
    });
  }
}

/// A block has one token. Its threads keep kKept vectors each; what is beyond them is read again. `kWhole`: every row
/// consists of aligned vectors.
template <bool kWhole>
__global__ void __launch_bounds__(kMaxThreads)
    rows_in_blocks(const __grid_constant__ Slots slots, const __grid_constant__ Loss work, pkb::EpochCounter* counter) {
  __shared__ float global_maximum;
  const uint32_t epoch = pkb::read_epoch(counter);
  __syncthreads();
  if (threadIdx.x == 0) pkb::advance_epoch(counter);

  const int vectors = (work.width + 7) / 8, threads = static_cast<int>(blockDim.x),
            thread = static_cast<int>(threadIdx.x);
  for (int64_t token = blockIdx.x; token < work.tokens; token += gridDim.x) {
    bf16* row = work.x + token * work.width;
    const auto load = [&](int i) {
      if (i >= vectors) return pkb::no_elements();
      if (kWhole) return pkb::load_vector(row + 8 * i);
      return pkb::first_elements(pkb::load_elements(row, i, work.width), work.width - 8 * i);
    };
    uint4 kept[kKept];
#pragma unroll
    for (int k = 0; k < kKept; ++k) kept[k] = load(thread + k * threads);
    const auto each = [&](auto function) {
#pragma unroll
      for (int k = 0; k < kKept; ++k) function(kept[k], thread + k * threads);
      for (int i = thread + kKept * threads; i < vectors; i += threads) function(load(i), i);
    };
    Statistics own{-INFINITY, 0};
    each([&](uint4 v, int) { own.maximum = fmaxf(own.maximum, pkb::max_bf16x8(v)); });
    own.maximum = pkb::block_max(own.maximum);
    each([&](uint4 v, int) { own.sum += sum_exp(v, own.maximum); });
    own.sum = pkb::block_sum(own.sum);
    if (threadIdx.x < pkb::kWarpSize) {
      const float maximum = exchange(slots, work, token, 1, own, epoch);
      if (threadIdx.x == 0) global_maximum = maximum;
    }
    __syncthreads();
    const float maximum = global_maximum;
    each([&](uint4 v, int i) {
      if (i >= vectors) return;
      kWhole ? pkb::store_vector(row + 8 * i, shift(v, maximum))
             : pkb::store_elements(row, i, work.width, shift(v, maximum));
    });
  }
}

}  // namespace

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  return pkb::guarded([&] {
    auto s = std::make_unique<State>();
    s->slots.tokens = pkb::output(arguments, "loss").capacity();
    const int64_t slots = 2 * context->world * s->slots.tokens;
    s->slots.memory =
        pkb::Symmetric(context, slots * static_cast<int64_t>(sizeof(pkb::PacketPair))).peers<pkb::PacketPair>();
    s->epoch = pkb::zeroed_workspace<pkb::EpochCounter>(context, 1);
    const auto x = pkb::output(arguments, "vocab_parallel_logits");
    const int64_t share = pkb::divide_up(x.shape(x.rank() - 1), 8 * kKept);  // vectors
    s->threads = static_cast<int>(std::clamp<int64_t>(pkb::divide_up(share, 32) * 32, 64, kMaxThreads));
    s->max_blocks[0] = pkb::co_resident_blocks(context, rows_in_registers<1>, kThreads);
    s->max_blocks[1] = pkb::co_resident_blocks(context, rows_in_registers<2>, kThreads);
    s->max_blocks[2] = std::min(pkb::co_resident_blocks(context, rows_in_blocks<true>, s->threads),
                                pkb::co_resident_blocks(context, rows_in_blocks<false>, s->threads));
    *state = s.release();
  });
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return pkb::guarded([&] {
    const auto& s = *static_cast<State*>(state);
    const auto x = pkb::output(arguments, "vocab_parallel_logits");
    const auto target = pkb::input(arguments, "target"), loss = pkb::output(arguments, "loss");
    const Loss work{x.data<bf16>(), target.data<const int64_t>(), loss.data<bf16>(), loss.elements(),
                    static_cast<int>(x.shape(x.rank() - 1))};
    if (work.tokens > s.slots.tokens) throw std::runtime_error("more tokens than setup saw");

    const bool whole = work.width % 8 == 0 && pkb::is_aligned(work.x);
    if (whole && work.width <= 512) {
      const bool narrow = work.width <= 256;
      const auto kernel = narrow ? rows_in_registers<1> : rows_in_registers<2>;
      const auto blocks =
          std::min<int64_t>(s.max_blocks[narrow ? 0 : 1], pkb::divide_up(work.tokens, kTokens * kWarps));
      kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(s.slots, work, s.epoch);
      pkb::check_launch("rows_in_registers");
    } else {
      const auto blocks = std::min<int64_t>(s.max_blocks[2], work.tokens);
      const auto kernel = whole ? rows_in_blocks<true> : rows_in_blocks<false>;
      kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(s.threads), 0, stream>>>(s.slots, work, s.epoch);
      pkb::check_launch("rows_in_blocks");
    }
  });
}

extern "C" void pkb_teardown(void* state) {
  delete static_cast<State*>(state);
}
