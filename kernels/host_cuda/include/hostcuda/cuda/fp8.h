// SPDX-License-Identifier: Apache-2.0
//
// CUDA's 8-bit floating types. Conversions round to nearest even; those of the constructors saturate to the largest
// finite value.
#pragma once

#include "hostcuda/cuda/bf16.h"
#include "hostcuda/cuda/fp16.h"

enum __nv_fp8_interpretation_t { __NV_E4M3 = 0, __NV_E5M2 = 1 };
enum __nv_saturation_t { __NV_NOSAT = 0, __NV_SATFINITE = 1 };
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;

namespace pkb::hostcuda {

/// Four exponent bits; no infinity, one NaN a sign.
struct E4M3 {
  static constexpr int kMantissaBits = 3, kBias = 7;
  static constexpr uint8_t kLargest = 0x7e, kOverflow = 0x7f;
  static bool is_special(uint8_t magnitude) { return magnitude == 0x7f; }
};
/// Five exponent bits, as IEEE.
struct E5M2 {
  static constexpr int kMantissaBits = 2, kBias = 15;
  static constexpr uint8_t kLargest = 0x7b, kOverflow = 0x7c;
  static bool is_special(uint8_t magnitude) { return magnitude >= 0x7c; }
};

template <class Format>
uint8_t to_fp8(float value, bool saturate) {
  if (value != value) return 0x7f;
  const auto sign = static_cast<uint8_t>(detail::bits_of(value) >> 24 & 0x80);
  const float magnitude = fabsf(value);
  if (magnitude == 0) return sign;
  unsigned bits = Format::kLargest + 1;
  if (!isinf(value)) {
    const int smallest = 1 - Format::kBias;
    const int exponent = ilogbf(magnitude) < smallest ? smallest : ilogbf(magnitude);
    // In units of the last place; the hidden bit carries into the exponent field.
    const float units = nearbyintf(ldexpf(magnitude, Format::kMantissaBits - exponent));
    if (exponent < 64) {
      bits = (static_cast<unsigned>(exponent - smallest) << Format::kMantissaBits) + static_cast<unsigned>(units);
    }
  }
  if (bits > Format::kLargest) bits = saturate ? Format::kLargest : Format::kOverflow;
  return static_cast<uint8_t>(sign | bits);
}

template <class Format>
float from_fp8(uint8_t bits) {
  const uint8_t magnitude = bits & 0x7f;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  if (Format::is_special(magnitude)) {
    const bool infinite = Format::kOverflow == 0x7c && magnitude == 0x7c;
    return detail::float_of(sign | (infinite ? 0x7f800000 : 0x7fc00000));
  }
  const int field = magnitude >> Format::kMantissaBits;
  const int fraction = magnitude & ((1 << Format::kMantissaBits) - 1);
  const int significand = field == 0 ? fraction : fraction | 1 << Format::kMantissaBits;
  const int exponent = (field == 0 ? 1 : field) - Format::kBias - Format::kMantissaBits;
  return detail::float_of(detail::bits_of(ldexpf(static_cast<float>(significand), exponent)) | sign);
}

template <class Format>
struct Fp8 {
  __nv_fp8_storage_t __x;

  Fp8() = default;
  explicit Fp8(float value) : __x(to_fp8<Format>(value, true)) {}
  explicit Fp8(double value) : Fp8(detail::to_odd(value)) {}
  explicit Fp8(__half value) : Fp8(static_cast<float>(value)) {}
  explicit Fp8(__nv_bfloat16 value) : Fp8(static_cast<float>(value)) {}
  explicit Fp8(int value) : Fp8(static_cast<double>(value)) {}
  explicit Fp8(unsigned value) : Fp8(static_cast<double>(value)) {}
  explicit Fp8(long value) : Fp8(static_cast<double>(value)) {}
  explicit Fp8(unsigned long value) : Fp8(static_cast<double>(value)) {}
  explicit Fp8(long long value) : Fp8(static_cast<double>(value)) {}
  explicit Fp8(unsigned long long value) : Fp8(static_cast<double>(value)) {}

  explicit operator float() const { return from_fp8<Format>(__x); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  explicit operator __half() const { return static_cast<float>(*this); }
  explicit operator __nv_bfloat16() const { return static_cast<float>(*this); }
  explicit operator int() const { return __float2int_rz(static_cast<float>(*this)); }
  explicit operator bool() const { return (__x & 0x7f) != 0; }
};

template <class Format>
struct Fp8x2 {
  __nv_fp8x2_storage_t __x;

  Fp8x2() = default;
  explicit Fp8x2(float2 value)
      : __x(static_cast<__nv_fp8x2_storage_t>(to_fp8<Format>(value.x, true) | to_fp8<Format>(value.y, true) << 8)) {}
  explicit Fp8x2(__half2 value) : Fp8x2(__half22float2(value)) {}
  explicit Fp8x2(__nv_bfloat162 value) : Fp8x2(__bfloat1622float2(value)) {}

  explicit operator float2() const {
    return {from_fp8<Format>(static_cast<uint8_t>(__x)), from_fp8<Format>(static_cast<uint8_t>(__x >> 8))};
  }
  explicit operator __half2() const { return __float22half2_rn(static_cast<float2>(*this)); }
};

template <class Format>
struct Fp8x4 {
  __nv_fp8x4_storage_t __x;

  Fp8x4() = default;
  explicit Fp8x4(float4 value)
      : __x(static_cast<unsigned>(to_fp8<Format>(value.x, true)) |
            static_cast<unsigned>(to_fp8<Format>(value.y, true)) << 8 |
            static_cast<unsigned>(to_fp8<Format>(value.z, true)) << 16 |
            static_cast<unsigned>(to_fp8<Format>(value.w, true)) << 24) {}

  explicit operator float4() const {
    return {from_fp8<Format>(static_cast<uint8_t>(__x)), from_fp8<Format>(static_cast<uint8_t>(__x >> 8)),
            from_fp8<Format>(static_cast<uint8_t>(__x >> 16)), from_fp8<Format>(static_cast<uint8_t>(__x >> 24))};
  }
};

}  // namespace pkb::hostcuda

using __nv_fp8_e4m3 = pkb::hostcuda::Fp8<pkb::hostcuda::E4M3>;
using __nv_fp8_e5m2 = pkb::hostcuda::Fp8<pkb::hostcuda::E5M2>;
using __nv_fp8x2_e4m3 = pkb::hostcuda::Fp8x2<pkb::hostcuda::E4M3>;
using __nv_fp8x2_e5m2 = pkb::hostcuda::Fp8x2<pkb::hostcuda::E5M2>;
using __nv_fp8x4_e4m3 = pkb::hostcuda::Fp8x4<pkb::hostcuda::E4M3>;
using __nv_fp8x4_e5m2 = pkb::hostcuda::Fp8x4<pkb::hostcuda::E5M2>;

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t kind) {
  const bool saturate = saturation == __NV_SATFINITE;
  return kind == __NV_E4M3 ? pkb::hostcuda::to_fp8<pkb::hostcuda::E4M3>(value, saturate)
                           : pkb::hostcuda::to_fp8<pkb::hostcuda::E5M2>(value, saturate);
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(pkb::hostcuda::detail::to_odd(value), saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw value, __nv_saturation_t saturation,
                                                  __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__half(value), saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw value, __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(value), saturation, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 value, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(value.x, saturation, kind) |
                                           __nv_cvt_float_to_fp8(value.y, saturation, kind) << 8);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t value, __nv_fp8_interpretation_t kind) {
  return __half(kind == __NV_E4M3 ? pkb::hostcuda::from_fp8<pkb::hostcuda::E4M3>(value)
                                  : pkb::hostcuda::from_fp8<pkb::hostcuda::E5M2>(value));
}
