// SPDX-License-Identifier: Apache-2.0
//
// The device toolkit within one GPU: 16-byte vectors and block-wide copies, bf16 as fp32, reductions of warps and
// blocks. "Block" functions are called by all threads of a block, in the same order; "warp" functions by all lanes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

namespace pkb {

using bf16 = __nv_bfloat16;

constexpr int kWarpSize = 32;

// ------------------------------------------------------------------------------------------------ 1 vectors and copies

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
  return __ldcs(static_cast<const uint4*>(address));
#endif
}
__device__ inline void store_vector_streaming(void* address, uint4 v) {
#ifdef PKB_HOST_CUDA
  store_vector(address, v);
#else
  __stcs(static_cast<uint4*>(address), v);
#endif
}

__host__ __device__ inline bool is_aligned(const void* address, int bytes = 16) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}

/// `count` 2-byte elements (8 at most, none if negative) at any even address as a vector; missing ones are zero.
/// Slow: for tails and odd shapes.
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

/// Block. Copies 2-byte elements at even addresses, in vectors where a side is aligned. Push: `to` is a peer's
/// address; pull: `from` is. No order and no barrier is implied.
__device__ inline void copy_block(void* to, const void* from, int64_t elements) {
  int64_t i = threadIdx.x;
  if (is_aligned(to) && is_aligned(from)) {
    i = copy_vectors<4>(static_cast<uint4*>(to), static_cast<const uint4*>(from), i, elements / 8);
    i = copy_vectors<2>(static_cast<uint4*>(to), static_cast<const uint4*>(from), i, elements / 8);
  }
  for (; 8 * i < elements; i += blockDim.x) store_elements(to, i, elements, load_elements(from, i, elements));
}

// -------------------------------------------------------------------------------------------------------------- 2 bf16

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

// -------------------------------------------------------------------------------------------------------- 3 reductions

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
