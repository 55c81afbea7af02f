// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/compare.h"
#include "device/cuda_kernels.h"
#include "device/hash.h"

namespace pkb::cuda {
namespace {

constexpr int kThreads = 256;

/// Blocks of a grid-stride loop over `work` items: no more than fill any GPU a few times over.
int blocks_for(int64_t work) {
  constexpr int64_t kMost = ReductionSpace::kMaximumBlocks;
  return static_cast<int>(std::clamp<int64_t>((work + kThreads - 1) / kThreads, 1, kMost));
}

__device__ int64_t first_item() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ int64_t item_stride() {
  return static_cast<int64_t>(gridDim.x) * blockDim.x;
}

bool is_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % sizeof(uint4) == 0;
}

// ---- what CUDA C++ has no name for

__device__ void store_release_system(uint32_t* address, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

__device__ uint32_t load_acquire_system(const uint32_t* address) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// Nanoseconds.
__device__ uint64_t global_timer() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

// ---- reductions over the grid

/// Keeps the sum of hashes apart from Comparison in the overloads of merge.
struct HashSum {
  uint64_t value = 0;
};
__device__ void merge(HashSum& total, const HashSum& part) {
  total.value += part.value;
}

/// The block's total, in thread 0. Always in the same order, so that sums of doubles are reproducible.
template <class Total>
__device__ Total reduce_block(const Total& own, Total* scratch) {
  scratch[threadIdx.x] = own;
  __syncthreads();
  for (unsigned int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) merge(scratch[threadIdx.x], scratch[threadIdx.x + width]);
    __syncthreads();
  }
  return scratch[0];
}

/// Adds the totals of all threads; the last block to arrive calls finish(total) in one thread.
template <class Total, class Finish>
__device__ void reduce_grid(const Total& own, const ReductionSpace& space, Finish finish) {
  static_assert(sizeof(Total) <= sizeof(Comparison));
  __shared__ alignas(16) unsigned char storage[kThreads * sizeof(Total)];
  __shared__ bool is_last;
  Total* scratch = reinterpret_cast<Total*>(storage);
  Total* partials = reinterpret_cast<Total*>(space.partials);

  const Total block_total = reduce_block(own, scratch);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = block_total;
    __threadfence();
    is_last = atomicAdd(space.ticket, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;

  Total total;
  for (unsigned int block = threadIdx.x; block < gridDim.x; block += kThreads) merge(total, partials[block]);
  total = reduce_block(total, scratch);
  if (threadIdx.x != 0) return;
  *space.ticket = 0;
  finish(total);
}

// ---- kernels

template <Dtype D>
__global__ void draw_kernel(BitsOf<D>* data, int64_t elements, const __grid_constant__ DrawPlan plan) {
  for (int64_t i = first_item(); i < elements; i += item_stride()) data[i] = draw_element<D>(plan, i);
}

__global__ void scramble_kernel(unsigned char* data, int64_t bytes, bool aligned, PhiloxKey key, uint64_t draw) {
  constexpr int64_t kChunk = sizeof(PhiloxBlock);
  const int64_t chunks = (bytes + kChunk - 1) / kChunk;
  for (int64_t chunk = first_item(); chunk < chunks; chunk += item_stride()) {
    const PhiloxBlock block = philox(key, draw, static_cast<uint64_t>(chunk));
    const int64_t first = chunk * kChunk;
    if (aligned && first + kChunk <= bytes) {
      *reinterpret_cast<uint4*>(data + first) = bit_copy<uint4>(block);
      continue;
    }
    for (int64_t i = 0; i < kChunk && first + i < bytes; ++i) {
      data[first + i] = static_cast<unsigned char>(block.lane[i / 4] >> (8 * (i % 4)));
    }
  }
}

__global__ void hash_kernel(const unsigned char* data, int64_t bytes, bool aligned, ReductionSpace space) {
  HashSum total;
  const int64_t pairs = aligned ? bytes / 16 : 0;
  for (int64_t pair = first_item(); pair < pairs; pair += item_stride()) {
    const ulonglong2 words = reinterpret_cast<const ulonglong2*>(data)[pair];
    total.value += hash_word(words.x, static_cast<uint64_t>(2 * pair));
    total.value += hash_word(words.y, static_cast<uint64_t>(2 * pair + 1));
  }
  const int64_t words = (bytes + 7) / 8;
  for (int64_t word = 2 * pairs + first_item(); word < words; word += item_stride()) {
    const uint64_t index = static_cast<uint64_t>(word);
    total.value += hash_word(load_word(data, static_cast<std::size_t>(bytes), index), index);
  }
  reduce_grid(total, space, [&](const HashSum& sum) {
    *reinterpret_cast<uint64_t*>(space.result) = finish_hash(sum.value, static_cast<std::size_t>(bytes));
  });
}

template <Dtype D>
struct alignas(16) Chunk {
  static constexpr int kElements = 16 / sizeof(BitsOf<D>);
  BitsOf<D> element[kElements];
};

template <Dtype D>
__global__ void compare_kernel(const BitsOf<D>* got, const BitsOf<D>* expected, int64_t elements, bool aligned,
                               CompareRule rule, ReductionSpace space) {
  constexpr int kPerChunk = Chunk<D>::kElements;
  Comparison total;
  const int64_t chunks = aligned ? elements / kPerChunk : 0;
  for (int64_t chunk = first_item(); chunk < chunks; chunk += item_stride()) {
    const auto ours = bit_copy<Chunk<D>>(reinterpret_cast<const uint4*>(got)[chunk]);
    const auto theirs = bit_copy<Chunk<D>>(reinterpret_cast<const uint4*>(expected)[chunk]);
#pragma unroll
    for (int i = 0; i < kPerChunk; ++i) {
      compare_element<D>(total, ours.element[i], theirs.element[i], chunk * kPerChunk + i, rule);
    }
  }
  for (int64_t i = chunks * kPerChunk + first_item(); i < elements; i += item_stride()) {
    compare_element<D>(total, got[i], expected[i], i, rule);
  }
  reduce_grid(total, space, [&](Comparison sum) {
    sum.elements = elements;
    if (sum.first >= 0) {
      sum.got_bits = got[sum.first];
      sum.expected_bits = expected[sum.first];
    }
    *space.result = sum;
  });
}

/// Slot i of a pad belongs to member i. Thread i tells member i and waits for member i.
__global__ void barrier_kernel(const __grid_constant__ BarrierPads pads, int members, int self, uint32_t epoch,
                               uint64_t timeout_ns, uint32_t* timed_out) {
  const int member = static_cast<int>(threadIdx.x);
  if (member >= members) return;
  const auto slot = [&](int pad, int index) { return static_cast<uint32_t*>(pads.pad[pad]) + 2 * index; };
  const uint64_t start = global_timer();
  store_release_system(slot(member, self), epoch);
  // The difference is signed: a member may be a call ahead, and epochs wrap.
  while (static_cast<int32_t>(load_acquire_system(slot(self, member)) - epoch) < 0) {
    if (global_timer() - start > timeout_ns) {
      *static_cast<volatile uint32_t*>(timed_out) = 1;
      __threadfence_system();
      return;
    }
  }
}

__global__ void spin_kernel(uint64_t nanoseconds) {
  const uint64_t start = global_timer();
  while (global_timer() - start < nanoseconds) {
  }
}

}  // namespace

cudaError_t draw(void* data, Dtype dtype, int64_t elements, const DrawPlan& plan, cudaStream_t stream) {
  with_dtype(dtype, [&](auto tag) {
    constexpr Dtype D = decltype(tag)::value;
    draw_kernel<D><<<blocks_for(elements), kThreads, 0, stream>>>(static_cast<BitsOf<D>*>(data), elements, plan);
  });
  return cudaGetLastError();
}

cudaError_t scramble(void* data, std::size_t bytes, PhiloxKey key, uint64_t draw, cudaStream_t stream) {
  const int64_t count = static_cast<int64_t>(bytes);
  scramble_kernel<<<blocks_for(count / 16 + 1), kThreads, 0, stream>>>(static_cast<unsigned char*>(data), count,
                                                                       is_aligned(data), key, draw);
  return cudaGetLastError();
}

cudaError_t hash(const void* data, std::size_t bytes, const ReductionSpace& space, cudaStream_t stream) {
  const int64_t count = static_cast<int64_t>(bytes);
  hash_kernel<<<blocks_for(count / 16), kThreads, 0, stream>>>(static_cast<const unsigned char*>(data), count,
                                                               is_aligned(data), space);
  return cudaGetLastError();
}

cudaError_t compare(const void* got, const void* expected, Dtype dtype, int64_t elements, Device::CompareRule rule,
                    const ReductionSpace& space, cudaStream_t stream) {
  const bool aligned = is_aligned(got) && is_aligned(expected);
  with_dtype(dtype, [&](auto tag) {
    constexpr Dtype D = decltype(tag)::value;
    compare_kernel<D><<<blocks_for(elements / Chunk<D>::kElements), kThreads, 0, stream>>>(
        static_cast<const BitsOf<D>*>(got), static_cast<const BitsOf<D>*>(expected), elements, aligned, rule, space);
  });
  return cudaGetLastError();
}

cudaError_t barrier(const BarrierPads& pads, int members, int self, uint32_t epoch, int64_t timeout_ns,
                    uint32_t* timed_out, cudaStream_t stream) {
  static_assert(kMaximumMembers <= 1024, "one thread a member");
  barrier_kernel<<<1, (members + 31) / 32 * 32, 0, stream>>>(pads, members, self, epoch,
                                                             static_cast<uint64_t>(timeout_ns), timed_out);
  return cudaGetLastError();
}

cudaError_t spin(int64_t nanoseconds, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(static_cast<uint64_t>(nanoseconds));
  return cudaGetLastError();
}

}  // namespace pkb::cuda
