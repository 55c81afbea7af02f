// SPDX-License-Identifier: Apache-2.0
//
// The 16-bit floating types and their pairs: bf16 and fp16 differ in their conversion from and to float only. Every
// operation is done exactly and rounded once, to nearest even, as the GPU does it.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "hostcuda/cuda/vector_types.h"

namespace pkb::hostcuda {

namespace detail {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}
inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

enum class Rounding { nearest, zero, up, down };

/// Whether the magnitude grows by one unit, from what is cut off: `half` is the first cut bit, `rest` any bit below.
inline bool rounds_away(Rounding rounding, bool negative, bool odd, bool half, bool rest) {
  switch (rounding) {
    case Rounding::nearest:
      return half && (rest || odd);
    case Rounding::up:
      return !negative && (half || rest);
    case Rounding::down:
      return negative && (half || rest);
    case Rounding::zero:
      break;
  }
  return false;
}

/// A double rounded to float such that a second rounding to 16 bits gives what one rounding would have: to odd.
inline float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || nearest != nearest) return nearest;
  if ((bits_of(nearest) & 1) != 0 && !isinf(nearest)) return nearest;
  // An even neighbour: the odd one lies on the other side of the value.
  const bool too_large = fabs(static_cast<double>(nearest)) > fabs(value);
  return float_of(bits_of(nearest) + (too_large ? -1u : 1u));
}

/// a * b + c, for 16-bit operands whose product a double holds exactly, to odd in the last bit of the double.
inline double fused(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);  // what the sum lost, exactly
  if (error == 0 || error != error) return sum;
  uint64_t bits;
  memcpy(&bits, &sum, 8);
  if ((bits & 1) == 0) bits += (error > 0) == (sum > 0) ? 1 : -1ull;
  double odd;
  memcpy(&odd, &bits, 8);
  return odd;
}

}  // namespace detail

struct BrainFormat {
  static uint16_t from_float(float value, detail::Rounding rounding) {
    const uint32_t bits = detail::bits_of(value);
    if (value != value) return 0x7fff;
    uint32_t kept = bits >> 16;
    const bool grow =
        detail::rounds_away(rounding, (bits >> 31) != 0, (kept & 1) != 0, (bits >> 15 & 1) != 0, (bits & 0x7fff) != 0);
    return static_cast<uint16_t>(kept + (grow && !isinf(value)));
  }
  static float to_float(uint16_t bits) { return detail::float_of(static_cast<uint32_t>(bits) << 16); }
};

struct HalfFormat {
  static uint16_t from_float(float value, detail::Rounding rounding) {
    const uint32_t bits = detail::bits_of(value);
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const bool negative = sign != 0;
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude == 0x7f800000) return static_cast<uint16_t>(sign | 0x7c00);
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent > 15) {
      // Beyond the largest finite value: like a value just above it.
      const bool away =
          rounding == detail::Rounding::nearest || detail::rounds_away(rounding, negative, true, true, true);
      return static_cast<uint16_t>(sign | (away ? 0x7c00 : 0x7bff));
    }
    // The significand with its hidden bit, cut to 11 bits, or fewer below the smallest normal.
    const uint32_t significand = (magnitude & 0x7fffff) | (magnitude >= 0x800000 ? 0x800000 : 0);
    const int cut = exponent >= -14 ? 13 : 13 + (-14 - exponent);
    uint32_t kept = cut < 25 ? significand >> cut : 0;
    const bool half = cut <= 24 && (significand >> (cut - 1) & 1) != 0;
    const bool rest = cut <= 24 ? (significand & ((1u << (cut - 1)) - 1)) != 0 : significand != 0;
    if (exponent >= -14) kept += static_cast<uint32_t>(exponent + 14) << 10;  // the hidden bit adds the missing one
    kept += detail::rounds_away(rounding, negative, (kept & 1) != 0, half, rest);
    return static_cast<uint16_t>(sign | kept);
  }
  static float to_float(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t magnitude = bits & 0x7fff;
    if (magnitude >= 0x7c00) return detail::float_of(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400) return detail::float_of(sign | ((magnitude << 13) + (112u << 23)));
    const float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
    return detail::float_of(detail::bits_of(subnormal) | sign);
  }
};

/// The bits alone, as CUDA's *_raw structs.
template <class Format>
struct NarrowRaw {
  unsigned short x;
};

template <class Format>
struct Narrow {
  using Raw = NarrowRaw<Format>;
  unsigned short __x;

  Narrow() = default;
  Narrow(float value) : __x(Format::from_float(value, detail::Rounding::nearest)) {}
  Narrow(double value) : __x(Format::from_float(detail::to_odd(value), detail::Rounding::nearest)) {}
  Narrow(int value) : Narrow(static_cast<double>(value)) {}
  Narrow(unsigned value) : Narrow(static_cast<double>(value)) {}
  Narrow(short value) : Narrow(static_cast<float>(value)) {}
  Narrow(unsigned short value) : Narrow(static_cast<float>(value)) {}
  Narrow(long value) : Narrow(static_cast<double>(value)) {}
  Narrow(unsigned long value) : Narrow(static_cast<double>(value)) {}
  Narrow(long long value) : Narrow(static_cast<double>(value)) {}
  Narrow(unsigned long long value) : Narrow(static_cast<double>(value)) {}
  constexpr Narrow(Raw raw) : __x(raw.x) {}
  template <class Other>
  explicit Narrow(Narrow<Other> value) : Narrow(static_cast<float>(value)) {}
  static Narrow from_bits(unsigned short bits) { return Narrow(Raw{bits}); }

  operator float() const { return Format::to_float(__x); }
  operator Raw() const { return {__x}; }
  explicit operator bool() const { return (__x & 0x7fff) != 0; }
  Narrow& operator=(Raw raw) {
    __x = raw.x;
    return *this;
  }

  // Sums, products and quotients of 11-bit significands: float holds enough bits that rounding twice does no harm.
  friend Narrow operator+(Narrow a, Narrow b) { return {a.f() + b.f()}; }
  friend Narrow operator-(Narrow a, Narrow b) { return {a.f() - b.f()}; }
  friend Narrow operator*(Narrow a, Narrow b) { return {a.f() * b.f()}; }
  friend Narrow operator/(Narrow a, Narrow b) { return {a.f() / b.f()}; }
  friend Narrow operator-(Narrow a) { return from_bits(static_cast<unsigned short>(a.__x ^ 0x8000)); }
  friend Narrow operator+(Narrow a) { return a; }
  friend Narrow& operator+=(Narrow& a, Narrow b) { return a = a + b; }
  friend Narrow& operator-=(Narrow& a, Narrow b) { return a = a - b; }
  friend Narrow& operator*=(Narrow& a, Narrow b) { return a = a * b; }
  friend Narrow& operator/=(Narrow& a, Narrow b) { return a = a / b; }
  friend Narrow& operator++(Narrow& a) { return a = a + Narrow(1.0f); }
  friend Narrow& operator--(Narrow& a) { return a = a - Narrow(1.0f); }
  friend bool operator==(Narrow a, Narrow b) { return a.f() == b.f(); }
  friend bool operator!=(Narrow a, Narrow b) { return a.f() != b.f() && !(a.is_nan() || b.is_nan()); }
  friend bool operator<(Narrow a, Narrow b) { return a.f() < b.f(); }
  friend bool operator>(Narrow a, Narrow b) { return a.f() > b.f(); }
  friend bool operator<=(Narrow a, Narrow b) { return a.f() <= b.f(); }
  friend bool operator>=(Narrow a, Narrow b) { return a.f() >= b.f(); }

  friend Narrow __hadd(Narrow a, Narrow b) { return a + b; }
  friend Narrow __hadd_rn(Narrow a, Narrow b) { return a + b; }
  friend Narrow __hsub(Narrow a, Narrow b) { return a - b; }
  friend Narrow __hsub_rn(Narrow a, Narrow b) { return a - b; }
  friend Narrow __hmul(Narrow a, Narrow b) { return a * b; }
  friend Narrow __hmul_rn(Narrow a, Narrow b) { return a * b; }
  friend Narrow __hdiv(Narrow a, Narrow b) { return a / b; }
  friend Narrow __hadd_sat(Narrow a, Narrow b) { return (a + b).saturated(); }
  friend Narrow __hsub_sat(Narrow a, Narrow b) { return (a - b).saturated(); }
  friend Narrow __hmul_sat(Narrow a, Narrow b) { return (a * b).saturated(); }
  friend Narrow __hfma(Narrow a, Narrow b, Narrow c) { return {detail::fused(a.f(), b.f(), c.f())}; }
  friend Narrow __hfma_sat(Narrow a, Narrow b, Narrow c) { return __hfma(a, b, c).saturated(); }
  friend Narrow __hfma_relu(Narrow a, Narrow b, Narrow c) {
    const Narrow sum = __hfma(a, b, c);
    return sum.is_nan() || sum.f() > 0 ? sum : from_bits(0);
  }
  friend Narrow __hneg(Narrow a) { return -a; }
  friend Narrow __habs(Narrow a) { return from_bits(static_cast<unsigned short>(a.__x & 0x7fff)); }
  friend Narrow __hmax(Narrow a, Narrow b) { return {fmaxf(a.f(), b.f())}; }
  friend Narrow __hmin(Narrow a, Narrow b) { return {fminf(a.f(), b.f())}; }
  friend Narrow __hmax_nan(Narrow a, Narrow b) { return a.is_nan() || b.is_nan() ? from_bits(0x7fff) : __hmax(a, b); }
  friend Narrow __hmin_nan(Narrow a, Narrow b) { return a.is_nan() || b.is_nan() ? from_bits(0x7fff) : __hmin(a, b); }
  friend bool __heq(Narrow a, Narrow b) { return a == b; }
  friend bool __hne(Narrow a, Narrow b) { return a != b; }
  friend bool __hlt(Narrow a, Narrow b) { return a < b; }
  friend bool __hle(Narrow a, Narrow b) { return a <= b; }
  friend bool __hgt(Narrow a, Narrow b) { return a > b; }
  friend bool __hge(Narrow a, Narrow b) { return a >= b; }
  friend bool __hisnan(Narrow a) { return a.is_nan(); }
  friend int __hisinf(Narrow a) { return isinf(a.f()) ? (a.f() > 0 ? 1 : -1) : 0; }

  friend Narrow hexp(Narrow a) { return {exp(a.d())}; }
  friend Narrow hexp2(Narrow a) { return {exp2(a.d())}; }
  friend Narrow hexp10(Narrow a) { return {pow(10.0, a.d())}; }
  friend Narrow hlog(Narrow a) { return {log(a.d())}; }
  friend Narrow hlog2(Narrow a) { return {log2(a.d())}; }
  friend Narrow hlog10(Narrow a) { return {log10(a.d())}; }
  friend Narrow hsqrt(Narrow a) { return {sqrt(a.d())}; }
  friend Narrow hrsqrt(Narrow a) { return {1.0 / sqrt(a.d())}; }
  friend Narrow hrcp(Narrow a) { return {1.0 / a.d()}; }
  friend Narrow hsin(Narrow a) { return {sin(a.d())}; }
  friend Narrow hcos(Narrow a) { return {cos(a.d())}; }
  friend Narrow htanh(Narrow a) { return {tanh(a.d())}; }
  friend Narrow hfloor(Narrow a) { return {floorf(a.f())}; }
  friend Narrow hceil(Narrow a) { return {ceilf(a.f())}; }
  friend Narrow htrunc(Narrow a) { return {truncf(a.f())}; }
  friend Narrow hrint(Narrow a) { return {nearbyintf(a.f())}; }

  bool is_nan() const { return f() != f(); }
  Narrow saturated() const { return is_nan() || f() <= 0 ? from_bits(0) : f() >= 1 ? Narrow(1.0f) : *this; }

 private:
  float f() const { return Format::to_float(__x); }
  double d() const { return static_cast<double>(f()); }
};

template <class Format>
struct alignas(4) NarrowPair {
  using Element = Narrow<Format>;
  Element x, y;

  NarrowPair() = default;
  NarrowPair(Element first, Element second) : x(first), y(second) {}

  friend NarrowPair operator+(NarrowPair a, NarrowPair b) { return {a.x + b.x, a.y + b.y}; }
  friend NarrowPair operator-(NarrowPair a, NarrowPair b) { return {a.x - b.x, a.y - b.y}; }
  friend NarrowPair operator*(NarrowPair a, NarrowPair b) { return {a.x * b.x, a.y * b.y}; }
  friend NarrowPair operator/(NarrowPair a, NarrowPair b) { return {a.x / b.x, a.y / b.y}; }
  friend NarrowPair operator-(NarrowPair a) { return {-a.x, -a.y}; }
  friend NarrowPair& operator+=(NarrowPair& a, NarrowPair b) { return a = a + b; }
  friend NarrowPair& operator-=(NarrowPair& a, NarrowPair b) { return a = a - b; }
  friend NarrowPair& operator*=(NarrowPair& a, NarrowPair b) { return a = a * b; }
  friend NarrowPair& operator/=(NarrowPair& a, NarrowPair b) { return a = a / b; }
  friend bool operator==(NarrowPair a, NarrowPair b) { return a.x == b.x && a.y == b.y; }
  friend bool operator!=(NarrowPair a, NarrowPair b) { return a.x != b.x && a.y != b.y; }

  friend NarrowPair __hadd2(NarrowPair a, NarrowPair b) { return a + b; }
  friend NarrowPair __hadd2_rn(NarrowPair a, NarrowPair b) { return a + b; }
  friend NarrowPair __hsub2(NarrowPair a, NarrowPair b) { return a - b; }
  friend NarrowPair __hmul2(NarrowPair a, NarrowPair b) { return a * b; }
  friend NarrowPair __hmul2_rn(NarrowPair a, NarrowPair b) { return a * b; }
  friend NarrowPair __h2div(NarrowPair a, NarrowPair b) { return a / b; }
  friend NarrowPair __hfma2(NarrowPair a, NarrowPair b, NarrowPair c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
  }
  friend NarrowPair __hfma2_relu(NarrowPair a, NarrowPair b, NarrowPair c) {
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
  }
  friend NarrowPair __hneg2(NarrowPair a) { return -a; }
  friend NarrowPair __habs2(NarrowPair a) { return {__habs(a.x), __habs(a.y)}; }
  friend NarrowPair __hmax2(NarrowPair a, NarrowPair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
  friend NarrowPair __hmin2(NarrowPair a, NarrowPair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
  friend NarrowPair h2exp(NarrowPair a) { return {hexp(a.x), hexp(a.y)}; }
  friend NarrowPair h2log(NarrowPair a) { return {hlog(a.x), hlog(a.y)}; }
  friend NarrowPair h2sqrt(NarrowPair a) { return {hsqrt(a.x), hsqrt(a.y)}; }
  friend NarrowPair h2rsqrt(NarrowPair a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
  friend NarrowPair h2rcp(NarrowPair a) { return {hrcp(a.x), hrcp(a.y)}; }
  friend bool __hbeq2(NarrowPair a, NarrowPair b) { return a.x == b.x && a.y == b.y; }
  friend bool __hblt2(NarrowPair a, NarrowPair b) { return a.x < b.x && a.y < b.y; }
  friend bool __hbgt2(NarrowPair a, NarrowPair b) { return a.x > b.x && a.y > b.y; }

  friend float __low2float(NarrowPair a) { return a.x; }
  friend float __high2float(NarrowPair a) { return a.y; }
};

}  // namespace pkb::hostcuda

// Both types have atomic sums.
#include "hostcuda/cuda/atomics.h"

template <class Format>
pkb::hostcuda::Narrow<Format> atomicAdd(pkb::hostcuda::Narrow<Format>* address,
                                        pkb::hostcuda::same<pkb::hostcuda::Narrow<Format>> value) {
  return pkb::hostcuda::detail::atomic_update(address, [=](pkb::hostcuda::Narrow<Format> old) { return old + value; });
}
template <class Format>
pkb::hostcuda::NarrowPair<Format> atomicAdd(pkb::hostcuda::NarrowPair<Format>* address,
                                            pkb::hostcuda::same<pkb::hostcuda::NarrowPair<Format>> value) {
  return pkb::hostcuda::detail::atomic_update(address,
                                              [=](pkb::hostcuda::NarrowPair<Format> old) { return old + value; });
}
