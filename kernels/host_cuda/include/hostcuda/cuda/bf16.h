// SPDX-License-Identifier: Apache-2.0
//
// CUDA's bf16 names.
#pragma once

#include "hostcuda/cuda/math.h"
#include "hostcuda/cuda/narrow_float.h"

using __nv_bfloat16 = pkb::hostcuda::Narrow<pkb::hostcuda::BrainFormat>;
using __nv_bfloat162 = pkb::hostcuda::NarrowPair<pkb::hostcuda::BrainFormat>;
using __nv_bfloat16_raw = pkb::hostcuda::NarrowRaw<pkb::hostcuda::BrainFormat>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float x) {
  return {x};
}
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  return {x};
}
inline __nv_bfloat16 __float2bfloat16_rz(float x) {
  return __nv_bfloat16::from_bits(pkb::hostcuda::BrainFormat::from_float(x, pkb::hostcuda::detail::Rounding::zero));
}
inline __nv_bfloat16 __float2bfloat16_ru(float x) {
  return __nv_bfloat16::from_bits(pkb::hostcuda::BrainFormat::from_float(x, pkb::hostcuda::detail::Rounding::up));
}
inline __nv_bfloat16 __float2bfloat16_rd(float x) {
  return __nv_bfloat16::from_bits(pkb::hostcuda::BrainFormat::from_float(x, pkb::hostcuda::detail::Rounding::down));
}
inline __nv_bfloat16 __double2bfloat16(double x) {
  return {x};
}
inline float __bfloat162float(__nv_bfloat16 x) {
  return x;
}

inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) {
  return {low, high};
}
inline __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {x, x};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 x) {
  return {x.x, x.y};
}
inline float2 __bfloat1622float2(__nv_bfloat162 x) {
  return {x.x, x.y};
}
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) {
  return {x, x};
}
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) {
  return x.x;
}
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) {
  return x.y;
}
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) {
  return {x.x, x.x};
}
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) {
  return {x.y, x.y};
}
inline __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 x) {
  return {x.y, x.x};
}

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return x.__x;
}
inline short __bfloat16_as_short(__nv_bfloat16 x) {
  return static_cast<short>(x.__x);
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __nv_bfloat16::from_bits(x);
}
inline __nv_bfloat16 __short_as_bfloat16(short x) {
  return __nv_bfloat16::from_bits(static_cast<unsigned short>(x));
}

inline __nv_bfloat16 __int2bfloat16_rn(int x) {
  return {x};
}
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned x) {
  return {x};
}
inline __nv_bfloat16 __ll2bfloat16_rn(long long x) {
  return {x};
}
inline __nv_bfloat16 __short2bfloat16_rn(short x) {
  return {x};
}
inline __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) {
  return {x};
}
inline int __bfloat162int_rn(__nv_bfloat16 x) {
  return __float2int_rn(x);
}
inline int __bfloat162int_rz(__nv_bfloat16 x) {
  return __float2int_rz(x);
}
inline unsigned __bfloat162uint_rn(__nv_bfloat16 x) {
  return __float2uint_rn(x);
}
