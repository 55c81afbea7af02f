// SPDX-License-Identifier: Apache-2.0
//
// The device toolkit: what a candidate needs to talk to its peers, and all the inline PTX there is. Every piece that
// is PTX under nvcc has a host twin, chosen by PKB_HOST_CUDA, so that the same candidate runs on CPU cores.
//
// Words. A *rank* drives one GPU; a *peer address* is another rank's symmetric memory seen from here. A *flag* is a
// 32-bit word in symmetric memory that one rank writes and another polls. *System scope* reaches other GPUs, *device
// scope* this one. "Block" functions are called by all threads of a block, in the same order; the others by any
// thread.
//
// Memory order in one paragraph. Data stored with ordinary stores is handed over by: stores, __syncthreads, `signal`
// by one thread (release, cumulative over the barrier); on the other side `wait` by one thread (acquire),
// __syncthreads, loads. A packet carries its epoch in the same atomic word as its data and needs no order at all.
// Whoever polls must be resident together with whoever it waits for: size grids with `co_resident_blocks`
// (pkb/arguments.h).
//
//   1 peers   2 flags   3 words and packets   4 epochs   5 barriers   6 sums over ranks   7 tensor cores
//   8 maxima of vectors
//   and in vector.cuh: copies, bf16 as fp32, reductions
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include "pkb/vector.cuh"

#ifdef PKB_HOST_CUDA
#include "hostcuda/device.h"
#endif

namespace pkb {

constexpr int kMaxRanks = 8;

// ------------------------------------------------------------------------------------------------------------- 1 peers

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

// ------------------------------------------------------------------------------------------------------------- 2 flags

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

// ------------------------------------------------------------------------------------------------- 3 words and packets

/// Two 8-byte words, moved by one 16-byte access. Each word is atomic by itself; either may arrive first.
struct alignas(16) WordPair {
  uint64_t a, b;
};

__device__ inline void store_words(WordPair* slot, WordPair words) {
#ifdef PKB_HOST_CUDA
  hostcuda::store_packet(&slot->a, words.a);
  hostcuda::store_packet(&slot->b, words.b);
#else
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(slot), "l"(words.a), "l"(words.b) : "memory");
#endif
}

__device__ inline WordPair load_words(const WordPair* slot) {
#ifdef PKB_HOST_CUDA
  return {hostcuda::load_packet(&slot->a), hostcuda::load_packet(&slot->b)};
#else
  WordPair words;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];" : "=l"(words.a), "=l"(words.b) : "l"(slot) : "memory");
  return words;
#endif
}

/// Four bytes of data and the epoch they belong to, in one word: one trip over the link, no fence, no flag. A slot
/// must not be written again before its reader is done: alternate between two sets of slots by the epoch's parity
/// where every rank hears from every other rank in every call, else wait for an acknowledgement.
struct alignas(8) Packet {
  uint32_t data;
  uint32_t epoch;
};

/// Two packets, moved by one access.
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
  store_words(reinterpret_cast<WordPair*>(slot), {packet_word(data.x, epoch), packet_word(data.y, epoch)});
}

__device__ inline PacketPair load_packet(const PacketPair* slot) {
  const WordPair words = load_words(reinterpret_cast<const WordPair*>(slot));
  return {static_cast<uint32_t>(words.a), static_cast<uint32_t>(words.a >> 32), static_cast<uint32_t>(words.b),
          static_cast<uint32_t>(words.b >> 32)};
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

// ------------------------------------------------------------------------------------------------------------ 4 epochs

/// The number of the current call, kept in device memory so that a captured graph counts on by itself. Zero at first;
/// one counter serves all blocks of a launch, and launches of one stream follow each other.
///
/// Every launch adds 2^16 in total: each block one, the first block what is missing. The upper bits, the epoch,
/// therefore move only when the last block has added, hence after every block has read: no block waits, and none
/// reads a neighbour's epoch.
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

// ---------------------------------------------------------------------------------------------------------- 5 barriers

/// Block. A barrier of this block with the same block of every rank: what any of them did before is visible to all
/// after. `flags`: on each rank kMaxRanks words for this block, zero at first; `epoch` must grow by one from barrier
/// to barrier.
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

/// Block, all blocks of the grid, which must be co-resident. `last` runs in one thread, the last to arrive, before
/// the others go on.
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

// --------------------------------------------------------------------------------------------------- 6 sums over ranks

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

// ------------------------------------------------------------------------------------------------------ 7 tensor cores

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

// ------------------------------------------------------------------------------------------------- 8 maxima of vectors

namespace pkb {

/// Eight times -inf: what is missing in a row whose maximum is wanted.
__device__ inline uint4 no_elements() {
  return make_uint4(0xff80ff80u, 0xff80ff80u, 0xff80ff80u, 0xff80ff80u);
}

/// The first `count` elements of a vector, -inf for the others.
__device__ inline uint4 first_elements(uint4 vector, int count) {
  uint32_t word[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (i >= count) word[i / 2] = i % 2 == 0 ? 0xff80ff80u : (word[i / 2] & 0xffffu) | 0xff800000u;
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

__device__ inline float max_bf16x8(uint4 vector) {
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&vector);
  const __nv_bfloat162 two = __hmax2(__hmax2(pairs[0], pairs[1]), __hmax2(pairs[2], pairs[3]));
  return fmaxf(__low2float(two), __high2float(two));
}

}  // namespace pkb
