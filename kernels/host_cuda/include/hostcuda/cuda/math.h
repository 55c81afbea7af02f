// SPDX-License-Identifier: Apache-2.0
//
// CUDA's mathematical functions and intrinsics beyond those of <math.h>. The fast ones are as exact as the others here.
#pragma once

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

namespace pkb::hostcuda::detail {

template <class To, class From>
To reinterpret(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof(To));
  return result;
}

/// Saturating, NaN gives 0, as the GPU converts.
template <class To, class From>
To to_integer(From rounded) {
  constexpr bool kSigned = static_cast<To>(-1) < To(0);
  constexpr int kBits = static_cast<int>(sizeof(To)) * 8 - (kSigned ? 1 : 0);
  constexpr To kHighest = static_cast<To>(kSigned ? (To(1) << (kBits - 1)) - 1 + (To(1) << (kBits - 1)) : ~To(0));
  constexpr To kLowest = static_cast<To>(kSigned ? -kHighest - 1 : 0);
  if (rounded != rounded) return 0;
  if (rounded >= ldexp(From(1), kBits)) return kHighest;
  if (rounded <= (kSigned ? -ldexp(From(1), kBits) : From(0))) return kLowest;
  return static_cast<To>(rounded);
}

}  // namespace pkb::hostcuda::detail

// ---- minimum and maximum of mixed integers, as CUDA overloads them
#define PKB_HOSTCUDA_MIN_MAX(result, a_type, b_type)                                                          \
  constexpr result min(a_type a, b_type b) {                                                                  \
    return static_cast<result>(b) < static_cast<result>(a) ? static_cast<result>(b) : static_cast<result>(a); \
  }                                                                                                           \
  constexpr result max(a_type a, b_type b) {                                                                  \
    return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(b) : static_cast<result>(a); \
  }
PKB_HOSTCUDA_MIN_MAX(int, int, int)
PKB_HOSTCUDA_MIN_MAX(unsigned, unsigned, unsigned)
PKB_HOSTCUDA_MIN_MAX(unsigned, int, unsigned)
PKB_HOSTCUDA_MIN_MAX(unsigned, unsigned, int)
PKB_HOSTCUDA_MIN_MAX(long, long, long)
PKB_HOSTCUDA_MIN_MAX(unsigned long, unsigned long, unsigned long)
PKB_HOSTCUDA_MIN_MAX(unsigned long, long, unsigned long)
PKB_HOSTCUDA_MIN_MAX(unsigned long, unsigned long, long)
PKB_HOSTCUDA_MIN_MAX(long long, long long, long long)
PKB_HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
PKB_HOSTCUDA_MIN_MAX(unsigned long long, long long, unsigned long long)
PKB_HOSTCUDA_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef PKB_HOSTCUDA_MIN_MAX
inline float min(float a, float b) {
  return fminf(a, b);
}
inline float max(float a, float b) {
  return fmaxf(a, b);
}
inline double min(double a, double b) {
  return fmin(a, b);
}
inline double max(double a, double b) {
  return fmax(a, b);
}
inline double min(float a, double b) {
  return fmin(a, b);
}
inline double min(double a, float b) {
  return fmin(a, b);
}
inline double max(float a, double b) {
  return fmax(a, b);
}
inline double max(double a, float b) {
  return fmax(a, b);
}
inline unsigned umin(unsigned a, unsigned b) {
  return min(a, b);
}
inline unsigned umax(unsigned a, unsigned b) {
  return max(a, b);
}

// ---- functions
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline double rsqrt(double x) {
  return 1.0 / sqrt(x);
}
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) {
  return 1.0f / cbrtf(x);
}
inline double rcbrt(double x) {
  return 1.0 / cbrt(x);
}
inline float sinpif(float x) {
  return static_cast<float>(sin(M_PI * fmod(static_cast<double>(x), 2.0)));
}
inline float cospif(float x) {
  return static_cast<float>(cos(M_PI * fmod(static_cast<double>(x), 2.0)));
}
inline double sinpi(double x) {
  return sin(M_PI * fmod(x, 2.0));
}
inline double cospi(double x) {
  return cos(M_PI * fmod(x, 2.0));
}
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline float normcdff(float x) {
  return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2));
}
inline double normcdf(double x) {
  return 0.5 * erfc(-x * M_SQRT1_2);
}
inline float norm3df(float a, float b, float c) {
  return sqrtf(a * a + b * b + c * c);
}
inline float rnorm3df(float a, float b, float c) {
  return 1.0f / norm3df(a, b, c);
}
inline float fdividef(float a, float b) {
  return a / b;
}
inline float __saturatef(float x) {
  return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f;
}

// ---- fast forms. The C library declares some of these names, with this linkage.
inline float __fdividef(float a, float b) {
  return a / b;
}
extern "C" {
inline float __expf(float x) noexcept {
  return expf(x);
}
inline float __exp10f(float x) noexcept {
  return powf(10.0f, x);
}
inline float __logf(float x) noexcept {
  return logf(x);
}
inline float __log2f(float x) noexcept {
  return log2f(x);
}
inline float __log10f(float x) noexcept {
  return log10f(x);
}
inline float __powf(float x, float y) noexcept {
  return powf(x, y);
}
inline float __sinf(float x) noexcept {
  return sinf(x);
}
inline float __cosf(float x) noexcept {
  return cosf(x);
}
inline float __tanf(float x) noexcept {
  return tanf(x);
}
inline void __sincosf(float x, float* s, float* c) noexcept {
  *s = sinf(x);
  *c = cosf(x);
}
}
inline float __tanhf(float x) {
  return tanhf(x);
}

// ---- arithmetic rounded to nearest
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float a) {
  return 1.0f / a;
}
inline float __fsqrt_rn(float a) {
  return sqrtf(a);
}
inline float __frsqrt_rn(float a) {
  return static_cast<float>(1.0 / sqrt(static_cast<double>(a)));
}
inline float __fmaf_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __drcp_rn(double a) {
  return 1.0 / a;
}
inline double __dsqrt_rn(double a) {
  return sqrt(a);
}
inline double __fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}

// ---- bits
inline int __float_as_int(float x) {
  return ::pkb::hostcuda::detail::reinterpret<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return ::pkb::hostcuda::detail::reinterpret<unsigned>(x);
}
inline float __int_as_float(int x) {
  return ::pkb::hostcuda::detail::reinterpret<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return ::pkb::hostcuda::detail::reinterpret<float>(x);
}
inline long long __double_as_longlong(double x) {
  return ::pkb::hostcuda::detail::reinterpret<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return ::pkb::hostcuda::detail::reinterpret<double>(x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(
      static_cast<long long>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low)));
}

// ---- conversions: to nearest even, to zero, up, down
#define PKB_HOSTCUDA_TO_INTEGER(name, from, to)                   \
  inline to name##_rn(from x) {                                   \
    return ::pkb::hostcuda::detail::to_integer<to>(nearbyint(x)); \
  }                                                               \
  inline to name##_rz(from x) {                                   \
    return ::pkb::hostcuda::detail::to_integer<to>(trunc(x));     \
  }                                                               \
  inline to name##_ru(from x) {                                   \
    return ::pkb::hostcuda::detail::to_integer<to>(ceil(x));      \
  }                                                               \
  inline to name##_rd(from x) {                                   \
    return ::pkb::hostcuda::detail::to_integer<to>(floor(x));     \
  }
PKB_HOSTCUDA_TO_INTEGER(__float2int, float, int)
PKB_HOSTCUDA_TO_INTEGER(__float2uint, float, unsigned)
PKB_HOSTCUDA_TO_INTEGER(__float2ll, float, long long)
PKB_HOSTCUDA_TO_INTEGER(__float2ull, float, unsigned long long)
PKB_HOSTCUDA_TO_INTEGER(__double2int, double, int)
PKB_HOSTCUDA_TO_INTEGER(__double2uint, double, unsigned)
PKB_HOSTCUDA_TO_INTEGER(__double2ll, double, long long)
PKB_HOSTCUDA_TO_INTEGER(__double2ull, double, unsigned long long)
#undef PKB_HOSTCUDA_TO_INTEGER
inline float __int2float_rn(int x) {
  return static_cast<float>(x);
}
inline float __uint2float_rn(unsigned x) {
  return static_cast<float>(x);
}
inline float __ll2float_rn(long long x) {
  return static_cast<float>(x);
}
inline float __ull2float_rn(unsigned long long x) {
  return static_cast<float>(x);
}
inline double __int2double_rn(int x) {
  return x;
}
inline double __uint2double_rn(unsigned x) {
  return x;
}
inline double __ll2double_rn(long long x) {
  return static_cast<double>(x);
}
inline double __ull2double_rn(unsigned long long x) {
  return static_cast<double>(x);
}
inline float __double2float_rn(double x) {
  return static_cast<float>(x);
}

// ---- integers
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
  return __builtin_popcountll(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
  return __builtin_ffsll(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int i = 0; i < 64; ++i) reversed |= (x >> i & 1) << (63 - i);
  return reversed;
}
inline unsigned __brev(unsigned x) {
  return static_cast<unsigned>(__brevll(x) >> 32);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned nibble = selector >> (4 * i) & 0xf;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (nibble & 7))) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<int64_t>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
__extension__ inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
__extension__ inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  return (a << 8 >> 8) * (b << 8 >> 8);
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<int64_t>(a) + b) >> 1);
}
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1);
}
inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) + b) >> 1);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return static_cast<unsigned>(a < b ? static_cast<int64_t>(b) - a : static_cast<int64_t>(a) - b) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return (a < b ? b - a : a - b) + c;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return c;
}
