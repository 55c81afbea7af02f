// SPDX-License-Identifier: Apache-2.0
//
// The device toolkit: what a candidate needs to talk to its peers, and all the inline PTX there is. Every piece that is
// PTX under nvcc has a host twin, chosen by PKB_HOST_CUDA, so that the same candidate runs on CPU cores.
//
// Words. A *rank* drives one GPU; a *peer address* is another rank's symmetric memory seen from here. A *flag* is a
// 32-bit word in symmetric memory that one rank writes and another polls. *System scope* reaches other GPUs, *device
// scope* this one. "Block" functions are called by all threads of a block, in the same order; the others by any thread.
//
// Memory order in one paragraph. Data stored with ordinary stores is handed over by: stores, __syncthreads, `signal` by
// one thread (release, cumulative over the barrier); on the other side `wait` by one thread (acquire), __syncthreads,
// loads. A packet carries its epoch in the same atomic word as its data and needs no order at all. Whoever polls must
// be resident together with whoever it waits for: size grids with `co_resident_blocks` (pkb/arguments.h).
//
//   1 peers    2 flags    3 packets    4 epochs    5 barriers    6 vectors and copies    7 bf16    8 reductions
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

#ifdef PKB_HOST_CUDA
#include "hostcuda/device.h"
#endif

namespace pkb {

using bf16 = __nv_bfloat16;

constexpr int kMaxRanks = 8;
constexpr int kWarpSize = 32;

// ---------------------------------------------------------------------------------------------------------- 1 peers

/// One address a rank, for the ranks of a group. `index` is the own place in the group. Kernels take it by value as
/// `const __grid_constant__ Peers<T>`, else the compiler copies it to local memory where a rank indexes it.
template <class T>
struct Peers {
  T* address[kMaxRanks];
  int size;
  int index;

  __host__ __device__ T* operator[](int rank) const { return address[rank]; }
  __host__ __device__ T* local() const { return address[index]; }
  /// The i-th other rank, i = 0 .. size - 2, starting after the own one: ranks that all count i upwards hit different
  /// peers.
  __host__ __device__ int other(int i) const {
    const int rank = index + 1 + i;
    return rank < size ? rank : rank - size;
  }
};

// ---------------------------------------------------------------------------------------------------------- 2 flags

/// Between two polls. Nothing on a GPU; on CPU cores other fibers and processes get their turn.
__device__ inline void poll_pause() {
#ifdef PKB_HOST_CUDA
  hostcuda::yield();
#endif
}

__device__ inline uint32_t load_acquire_system(const uint32_t* address) {
#ifdef PKB_HOST_CUDA
  return hostcuda::load_acquire_system(address);
#else
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
#endif
}

__device__ inline uint32_t load_relaxed_system(const uint32_t* address) {
#ifdef PKB_HOST_CUDA
  return hostcuda::load_relaxed_system(address);
#else
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
#endif
}

__device__ inline void store_release_system(uint32_t* address, uint32_t value) {
#ifdef PKB_HOST_CUDA
  hostcuda::store_release_system(address, value);
#else
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
#endif
}

__device__ inline void store_relaxed_system(uint32_t* address, uint32_t value) {
#ifdef PKB_HOST_CUDA
  hostcuda::store_relaxed_system(address, value);
#else
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
#endif
}

/// Adds without asking for the old value: counts arrivals of many blocks on one flag.
__device__ inline void add_release_system(uint32_t* address, uint32_t value) {
#ifdef PKB_HOST_CUDA
  hostcuda::fetch_add_release_system(address, value);
#else
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
#endif
}

__device__ inline uint32_t load_acquire_device(const uint32_t* address) {
#ifdef PKB_HOST_CUDA
  return hostcuda::load_acquire_device(address);
#else
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
#endif
}

__device__ inline void store_release_device(uint32_t* address, uint32_t value) {
#ifdef PKB_HOST_CUDA
  hostcuda::store_release_device(address, value);
#else
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
#endif
}

/// Adds and returns the old value.
__device__ inline uint32_t add_acq_rel_device(uint32_t* address, uint32_t value) {
#ifdef PKB_HOST_CUDA
  return hostcuda::fetch_add_acq_rel_device(address, value);
#else
  uint32_t old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
#endif
}

__device__ inline void fence_system() {
#ifdef PKB_HOST_CUDA
  hostcuda::fence_system();
#else
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

__device__ inline void fence_device() {
#ifdef PKB_HOST_CUDA
  hostcuda::fence_device();
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

/// True when a counter that only grows, and wraps, has come to `target` (distances below 2^31).
__host__ __device__ inline bool reached(uint32_t value, uint32_t target) {
  return static_cast<int32_t>(value - target) >= 0;
}

/// Sets a flag, most often a peer's; everything this thread did or saw before is visible to whoever waits for it.
__device__ inline void signal(uint32_t* flag, uint32_t epoch) {
  store_release_system(flag, epoch);
}

/// Returns when the own flag has come to `epoch`.
__device__ inline void wait(const uint32_t* flag, uint32_t epoch) {
  while (!reached(load_acquire_system(flag), epoch)) poll_pause();
}

/// The same within one device.
__device__ inline void signal_device(uint32_t* flag, uint32_t epoch) {
  store_release_device(flag, epoch);
}
__device__ inline void wait_device(const uint32_t* flag, uint32_t epoch) {
  while (!reached(load_acquire_device(flag), epoch)) poll_pause();
}

/// Nanoseconds of a clock that all blocks of one device share.
__device__ inline uint64_t timer_ns() {
#ifdef PKB_HOST_CUDA
  return static_cast<uint64_t>(hostcuda::timer_ns());
#else
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#endif
}

// -------------------------------------------------------------------------------------------------------- 3 packets

/// Four bytes of data and the epoch they belong to, in one atomic 8-byte word: one trip over the link, no fence, no
/// flag. A slot must not be written again before its reader is done: alternate between two sets of slots by the epoch's
/// parity where every rank hears from every other rank in every call, else wait for an acknowledgement.
struct alignas(8) Packet {
  uint32_t data;
  uint32_t epoch;
};

/// Two packets, moved by one 16-byte access. Each half is atomic by itself, so the halves may arrive one after the
/// other.
struct alignas(16) PacketPair {
  uint32_t data0, epoch0, data1, epoch1;
};

__device__ inline uint64_t packet_word(uint32_t data, uint32_t epoch) {
  return static_cast<uint64_t>(epoch) << 32 | data;
}

__device__ inline void store_packet(Packet* slot, uint32_t data, uint32_t epoch) {
  const uint64_t word = packet_word(data, epoch);
#ifdef PKB_HOST_CUDA
  hostcuda::store_packet(reinterpret_cast<uint64_t*>(slot), word);
#else
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
#endif
}

__device__ inline Packet load_packet(const Packet* slot) {
  uint64_t word;
#ifdef PKB_HOST_CUDA
  word = hostcuda::load_packet(reinterpret_cast<const uint64_t*>(slot));
#else
  asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(word) : "l"(slot) : "memory");
#endif
  return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
}

__device__ inline void store_packet(PacketPair* slot, uint2 data, uint32_t epoch) {
#ifdef PKB_HOST_CUDA
  auto* half = reinterpret_cast<Packet*>(slot);
  store_packet(half, data.x, epoch);
  store_packet(half + 1, data.y, epoch);
#else
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(slot), "l"(packet_word(data.x, epoch)),
               "l"(packet_word(data.y, epoch))
               : "memory");
#endif
}

__device__ inline PacketPair load_packet(const PacketPair* slot) {
#ifdef PKB_HOST_CUDA
  const auto* half = reinterpret_cast<const Packet*>(slot);
  const Packet a = load_packet(half), b = load_packet(half + 1);
  return {a.data, a.epoch, b.data, b.epoch};
#else
  uint64_t a, b;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(slot) : "memory");
  return {static_cast<uint32_t>(a), static_cast<uint32_t>(a >> 32), static_cast<uint32_t>(b),
          static_cast<uint32_t>(b >> 32)};
#endif
}

/// Returns the data once the packet of this epoch is there.
__device__ inline uint32_t poll_packet(const Packet* slot, uint32_t epoch) {
  for (;;) {
    const Packet packet = load_packet(slot);
    if (packet.epoch == epoch) return packet.data;
    poll_pause();
  }
}
__device__ inline uint2 poll_packet(const PacketPair* slot, uint32_t epoch) {
  for (;;) {
    const PacketPair packet = load_packet(slot);
    if (packet.epoch0 == epoch && packet.epoch1 == epoch) return make_uint2(packet.data0, packet.data1);
    poll_pause();
  }
}

// --------------------------------------------------------------------------------------------------------- 4 epochs

/// The number of the current call, kept in device memory so that a captured graph counts on by itself. Zero at first;
/// one counter serves all blocks of a launch, and launches of one stream follow each other.
///
/// Every launch adds 2^16 in total: each block one, the first block what is missing. The upper bits, the epoch,
/// therefore move only when the last block has added, hence after every block has read: no block waits, and none reads
/// a neighbour's epoch.
struct EpochCounter {
  unsigned long long value;
};

/// The epoch of this call: 1, 2, 3 ... (never the 0 that flags and packets hold at first, until 2^32 calls have gone
/// by).
__device__ inline uint32_t read_epoch(const EpochCounter* counter) {
#ifdef PKB_HOST_CUDA
  const unsigned long long value = hostcuda::load_relaxed_device(&counter->value);
#else
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(&counter->value) : "memory");
#endif
  return static_cast<uint32_t>(value >> 16) + 1;
}

/// Once a block, by one thread, after a __syncthreads that follows the last read_epoch of the block. Grids: one
/// dimension, at most 2^16 blocks.
__device__ inline void advance_epoch(EpochCounter* counter) {
  const unsigned long long share = blockIdx.x == 0 ? (1ull << 16) - (gridDim.x - 1) : 1ull;
#ifdef PKB_HOST_CUDA
  hostcuda::fetch_add_acq_rel_device(&counter->value, share);
#else
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(&counter->value), "l"(share) : "memory");
#endif
}

// ------------------------------------------------------------------------------------------------------- 5 barriers

/// Block. A barrier of this block with the same block of every rank: what any of them did before is visible to all
/// after. `flags`: on each rank kMaxRanks words for this block, zero at first; `epoch` must grow by one from barrier to
/// barrier.
__device__ inline void team_barrier(const Peers<uint32_t>& flags, uint32_t epoch) {
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < flags.size) {
    signal(flags[peer] + flags.index, epoch);
    wait(flags.local() + peer, epoch);
  }
  __syncthreads();
}

/// Private device memory of a grid barrier, zero at first. Good for launches of any size, one after the other.
struct GridBarrier {
  uint32_t arrived;
  uint32_t generation;
};

/// Block, all blocks of the grid, which must be co-resident. `last` runs in one thread, the last to arrive, before the
/// others go on.
template <class Last>
__device__ inline void grid_barrier(GridBarrier* barrier, Last last) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t generation = load_acquire_device(&barrier->generation);
    if (add_acq_rel_device(&barrier->arrived, 1) == gridDim.x - 1) {
      last();
      barrier->arrived = 0;  // nobody adds before the generation changes
      signal_device(&barrier->generation, generation + 1);
    } else {
      wait_device(&barrier->generation, generation + 1);
    }
  }
  __syncthreads();
}
__device__ inline void grid_barrier(GridBarrier* barrier) {
  grid_barrier(barrier, [] {});
}

/// Block, all blocks of the grid on all ranks. `flags` and `epoch` as in team_barrier.
__device__ inline void grid_team_barrier(GridBarrier* barrier, const Peers<uint32_t>& flags, uint32_t epoch) {
  grid_barrier(barrier, [&] {
    for (int i = 0; i < flags.size; ++i) signal(flags[i] + flags.index, epoch);
    for (int i = 0; i < flags.size; ++i) wait(flags.local() + i, epoch);
  });
}

// --------------------------------------------------------------------------------------------- 6 vectors and copies

// A vector is 16 bytes at a 16-byte aligned address, the widest access a thread has; here always a uint4.

__device__ inline uint4 load_vector(const void* address) {
  return *static_cast<const uint4*>(address);
}
__device__ inline void store_vector(void* address, uint4 v) {
  *static_cast<uint4*>(address) = v;
}

/// For data that is touched once: the first to leave the caches, so that what is exchanged stays in L2.
__device__ inline uint4 load_vector_streaming(const void* address) {
#ifdef PKB_HOST_CUDA
  return load_vector(address);
#else
  uint4 v;
  asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address)
               : "memory");
  return v;
#endif
}
__device__ inline void store_vector_streaming(void* address, uint4 v) {
#ifdef PKB_HOST_CUDA
  store_vector(address, v);
#else
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
#endif
}

__host__ __device__ inline bool is_aligned(const void* address, int bytes = 16) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}

/// `count` (1 .. 8) 2-byte elements at any even address as a vector; missing ones are zero. Slow: for tails and odd
/// shapes.
__device__ inline uint4 gather_vector(const void* address, int count) {
  const auto* from = static_cast<const uint16_t*>(address);
  uint32_t word[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) word[i / 2] |= static_cast<uint32_t>(from[i]) << (i % 2 * 16);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}
__device__ inline void scatter_vector(void* address, uint4 v, int count) {
  auto* to = static_cast<uint16_t*>(address);
  const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i < count) to[i] = static_cast<uint16_t>(word[i / 2] >> (i % 2 * 16));
  }
}

/// Vector i of a tensor of `elements` 2-byte elements, which may start at any even address and end within the vector.
__device__ inline uint4 load_elements(const void* tensor, int64_t i, int64_t elements) {
  const auto* from = static_cast<const uint16_t*>(tensor) + 8 * i;
  const int64_t left = elements - 8 * i;
  return left >= 8 && is_aligned(from) ? load_vector(from) : gather_vector(from, left < 8 ? static_cast<int>(left) : 8);
}
__device__ inline void store_elements(void* tensor, int64_t i, int64_t elements, uint4 v) {
  auto* to = static_cast<uint16_t*>(tensor) + 8 * i;
  const int64_t left = elements - 8 * i;
  if (left >= 8 && is_aligned(to)) {
    store_vector(to, v);
  } else {
    scatter_vector(to, v, left < 8 ? static_cast<int>(left) : 8);
  }
}

/// Vectors i, i + blockDim.x, ... while kUnroll of them can be in flight at once; returns the first i that is left.
template <int kUnroll>
__device__ inline int64_t copy_vectors(uint4* to, const uint4* from, int64_t i, int64_t vectors) {
  const int64_t stride = blockDim.x;
  for (; i + (kUnroll - 1) * stride < vectors; i += kUnroll * stride) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_vector(from + i + u * stride);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) store_vector(to + i + u * stride, v[u]);
  }
  return i;
}

/// Block. Copies 2-byte elements at even addresses, in vectors where a side is aligned. Push: `to` is a peer's address;
/// pull: `from` is. No order and no barrier is implied.
__device__ inline void copy_block(void* to, const void* from, int64_t elements) {
  int64_t i = threadIdx.x;
  if (is_aligned(to) && is_aligned(from)) {
    i = copy_vectors<4>(static_cast<uint4*>(to), static_cast<const uint4*>(from), i, elements / 8);
    i = copy_vectors<2>(static_cast<uint4*>(to), static_cast<const uint4*>(from), i, elements / 8);
  }
  for (; 8 * i < elements; i += blockDim.x) store_elements(to, i, elements, load_elements(from, i, elements));
}

// ----------------------------------------------------------------------------------------------------------- 7 bf16

/// Two bf16 of one 32-bit word as fp32: exact.
__device__ inline float2 unpack_bf16x2(uint32_t word) {
  return make_float2(__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000u));
}
/// Rounds to nearest even.
__device__ inline uint32_t pack_bf16x2(float2 value) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(value.x, value.y);
  return static_cast<uint32_t>(__bfloat16_as_ushort(pair.x)) | static_cast<uint32_t>(__bfloat16_as_ushort(pair.y))
                                                                   << 16;
}

// Sums of bf16 are taken in fp32 and rounded once: add the ranks in rank order, and every rank gets the same bits.

__device__ inline void add(float2& sum, uint32_t bf16x2) {
  const float2 a = unpack_bf16x2(bf16x2);
  sum = make_float2(sum.x + a.x, sum.y + a.y);
}

/// The four bf16 of 8 bytes, and the eight of a vector, as fp32.
struct Float4 {
  float2 v[2];
};
struct Float8 {
  float2 v[4];
};
__device__ inline Float4 unpack_bf16x4(uint2 a) {
  return {{unpack_bf16x2(a.x), unpack_bf16x2(a.y)}};
}
__device__ inline Float8 unpack_bf16x8(uint4 a) {
  return {{unpack_bf16x2(a.x), unpack_bf16x2(a.y), unpack_bf16x2(a.z), unpack_bf16x2(a.w)}};
}
__device__ inline uint2 pack_bf16x4(const Float4& a) {
  return make_uint2(pack_bf16x2(a.v[0]), pack_bf16x2(a.v[1]));
}
__device__ inline uint4 pack_bf16x8(const Float8& a) {
  return make_uint4(pack_bf16x2(a.v[0]), pack_bf16x2(a.v[1]), pack_bf16x2(a.v[2]), pack_bf16x2(a.v[3]));
}
__device__ inline void add(Float4& sum, uint2 bf16x4) {
  add(sum.v[0], bf16x4.x);
  add(sum.v[1], bf16x4.y);
}
__device__ inline void add(Float8& sum, uint4 bf16x8) {
  add(sum.v[0], bf16x8.x);
  add(sum.v[1], bf16x8.y);
  add(sum.v[2], bf16x8.z);
  add(sum.v[3], bf16x8.w);
}

/// Block. Adds `elements` bf16 of every rank: from(rank) is where a rank's are, store(i, v) gets vector i of the sum,
/// the last one filled up with zeros. In rank order, in fp32, rounded once.
template <class From, class Store>
__device__ inline void sum_block(int elements, int ranks, From from, Store store) {
  constexpr int kBatch = 4;  // loads in flight before the first addition
  __shared__ const bf16* source[kMaxRanks];
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < ranks) source[threadIdx.x] = from(static_cast<int>(threadIdx.x));
  __syncthreads();
  bool aligned = true;
  for (int s = 0; s < ranks; ++s) aligned = aligned && is_aligned(source[s]);

  int i = static_cast<int>(threadIdx.x);
  if (aligned) {
    for (; i < elements / 8; i += static_cast<int>(blockDim.x)) {
      Float8 sum{};
      for (int first = 0; first < ranks; first += kBatch) {
        uint4 v[kBatch];
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          if (first + s < ranks) v[s] = load_vector(source[first + s] + 8 * i);
        }
#pragma unroll
        for (int s = 0; s < kBatch; ++s) {
          if (first + s < ranks) add(sum, v[s]);
        }
      }
      store(i, pack_bf16x8(sum));
    }
  }
  for (; 8 * i < elements; i += static_cast<int>(blockDim.x)) {
    Float8 sum{};
#pragma unroll 1
    for (int s = 0; s < ranks; ++s) add(sum, load_elements(source[s], i, elements));
    store(i, pack_bf16x8(sum));
  }
}

// ----------------------------------------------------------------------------------------------------- 8 reductions

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

/// Warp, all 32 lanes. Every lane gets the result, in the same bits (butterfly: the operation must be commutative).
template <class T, class Operation>
__device__ inline T warp_reduce(T value, Operation operation) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = operation(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}
template <class T>
__device__ inline T warp_sum(T value) {
  return warp_reduce(value, Sum());
}
template <class T>
__device__ inline T warp_max(T value) {
  return warp_reduce(value, Max());
}

/// Block of whole warps, one dimension. Every thread gets the result; `identity` is the operation's neutral element.
template <class T, class Operation>
__device__ inline T block_reduce(T value, Operation operation, T identity) {
  __shared__ T partial[kWarpSize];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  value = warp_reduce(value, operation);
  __syncthreads();  // an earlier reduction may still be read
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return warp_reduce(lane < static_cast<int>(blockDim.x) / kWarpSize ? partial[lane] : identity, operation);
}
template <class T>
__device__ inline T block_sum(T value) {
  return block_reduce(value, Sum(), T(0));
}
/// Floating values.
template <class T>
__device__ inline T block_max(T value) {
  return block_reduce(value, Max(), -static_cast<T>(INFINITY));
}

}  // namespace pkb

// -------------------------------------------------------------------------------------------------- 9 tensor cores

namespace pkb {

/// Warp. d += a b with a 16 x 16 and b 16 x 8 bf16, d 16 x 8 fp32. Lane l = 4 g + t holds
///   a: rows g (a[0], a[2]) and g + 8 (a[1], a[3]); columns 2t, 2t + 1 (a[0], a[1]) and 2t + 8, 2t + 9 (a[2], a[3]);
///   b: column g; rows 2t, 2t + 1 (b[0]) and 2t + 8, 2t + 9 (b[1]);
///   d: rows g (d[0], d[1]) and g + 8 (d[2], d[3]); columns 2t, 2t + 1.
/// The inner index may be permuted at will, the same way in a and b.
__device__ inline void multiply_add_16x8x16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef PKB_HOST_CUDA
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, g = lane / 4, t = lane % 4;
  for (int quarter = 0; quarter < 4; ++quarter) {
    for (int half = 0; half < 2; ++half) {
      const float2 upper = unpack_bf16x2(__shfl_sync(0xffffffffu, a[2 * half], 4 * g + quarter));
      const float2 lower = unpack_bf16x2(__shfl_sync(0xffffffffu, a[2 * half + 1], 4 * g + quarter));
      for (int column = 0; column < 2; ++column) {
        const float2 right = unpack_bf16x2(__shfl_sync(0xffffffffu, b[half], 4 * (2 * t + column) + quarter));
        d[column] += upper.x * right.x + upper.y * right.y;
        d[2 + column] += lower.x * right.x + lower.y * right.y;
      }
    }
  }
#else
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

}  // namespace pkb
