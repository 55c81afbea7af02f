// SPDX-License-Identifier: Apache-2.0
//
// Integer and bit helpers that host code and kernels share. No CUDA header is needed on the host.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define PKB_HD __host__ __device__
#else
#define PKB_HD
#endif

namespace pkb {

template <class To, class From>
PKB_HD inline To bit_copy(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

/// A bijection of 64-bit words in which every input bit changes every output bit with probability one half (two rounds
/// of multiply and xor-shift, constants of SplitMix64).
PKB_HD inline uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11ebull;
  return x ^ (x >> 31);
}

/// The upper 64 bits of the 128-bit product.
PKB_HD inline uint64_t multiply_high(uint64_t a, uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

}  // namespace pkb
