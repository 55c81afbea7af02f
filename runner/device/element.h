// SPDX-License-Identifier: Apache-2.0
//
// The element types as bits: what they are stored as, their value, and conversion to them, exactly rounded to nearest
// even. Written once for host and GPU instead of relying on two sets of intrinsics, so that both give the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "device/bits.h"

namespace pkb {

// ---- narrow floating formats

struct Bf16Format {
  static constexpr int kExponentBits = 8, kMantissaBits = 7, kBias = 127;
  static constexpr uint32_t kLargest = 0x7f7f, kOverflow = 0x7f80, kNan = 0x7fc0;
};
struct Fp16Format {
  static constexpr int kExponentBits = 5, kMantissaBits = 10, kBias = 15;
  static constexpr uint32_t kLargest = 0x7bff, kOverflow = 0x7c00, kNan = 0x7e00;
};
/// The "fn" variant: no infinities, one NaN. Conversion saturates at 448, as the hardware's (satfinite) does.
struct Fp8E4m3Format {
  static constexpr int kExponentBits = 4, kMantissaBits = 3, kBias = 7;
  static constexpr uint32_t kLargest = 0x7e, kOverflow = 0x7e, kNan = 0x7f;
};

template <class Real>
struct RealFormat;
template <>
struct RealFormat<float> {
  using Word = uint32_t;
  static constexpr int kMantissaBits = 23, kBias = 127;
};
template <>
struct RealFormat<double> {
  using Word = uint64_t;
  static constexpr int kMantissaBits = 52, kBias = 1023;
};

/// A float or double as bits of a narrow format, rounded once.
template <class Format, class Real>
PKB_HD inline uint32_t narrow(Real value) {
  using Source = RealFormat<Real>;
  using Word = typename Source::Word;
  constexpr int kSignBit = 8 * sizeof(Word) - 1;
  constexpr Word kInfinity = static_cast<Word>(2 * Source::kBias + 1) << Source::kMantissaBits;
  constexpr int kLowestExponent = 1 - Format::kBias;

  const Word word = bit_copy<Word>(value);
  const uint32_t sign = static_cast<uint32_t>(word >> kSignBit) << (Format::kExponentBits + Format::kMantissaBits);
  const Word magnitude = word & ~(Word{1} << kSignBit);
  if (magnitude > kInfinity) return sign | Format::kNan;

  int shift = Source::kMantissaBits - Format::kMantissaBits;
  Word number =
      magnitude;  // exponent and mantissa; a carry out of the mantissa is a step of the exponent, as it should be
  const int exponent = static_cast<int>(magnitude >> Source::kMantissaBits) - Source::kBias;
  if (exponent >= kLowestExponent) {
    number -= static_cast<Word>(Source::kBias - Format::kBias) << Source::kMantissaBits;
  } else {  // subnormal in the narrow format: count its smallest units
    const bool source_is_normal = exponent > -Source::kBias;
    number &= (Word{1} << Source::kMantissaBits) - 1;
    if (source_is_normal) number |= Word{1} << Source::kMantissaBits;
    shift += kLowestExponent - (source_is_normal ? exponent : 1 - Source::kBias);
    if (shift > Source::kMantissaBits + 1) return sign;  // less than half a unit
  }
  const Word odd = (number >> shift) & 1;
  const Word rounded = (number + (Word{1} << (shift - 1)) - 1 + odd) >> shift;
  return sign | (rounded > Format::kLargest ? Format::kOverflow : static_cast<uint32_t>(rounded));
}

/// The value of a narrow format's bits, exactly.
template <class Format>
PKB_HD inline float widen(uint32_t bits) {
  if constexpr (Format::kExponentBits == 8) {
    return bit_copy<float>(bits << 16);
  } else {
    constexpr int kMagnitudeBits = Format::kExponentBits + Format::kMantissaBits;
    const uint32_t sign = (bits >> kMagnitudeBits) << 31;
    const uint32_t magnitude = bits & ((1u << kMagnitudeBits) - 1);
    if (magnitude > Format::kLargest) {
      const bool is_infinity = magnitude == Format::kOverflow;
      return bit_copy<float>(sign | (is_infinity ? 0x7f80'0000u : 0x7fc0'0000u));
    }
    if (magnitude >> Format::kMantissaBits == 0) {
      constexpr uint32_t kUnitExponent = 127 + 1 - Format::kBias - Format::kMantissaBits;
      const float value = static_cast<float>(magnitude) * bit_copy<float>(kUnitExponent << 23);
      return bit_copy<float>(bit_copy<uint32_t>(value) | sign);
    }
    const uint32_t rebased = magnitude + ((127u - Format::kBias) << Format::kMantissaBits);
    return bit_copy<float>(sign | (rebased << (23 - Format::kMantissaBits)));
  }
}

// ---- elements

template <Dtype D>
struct ElementBits;
// clang-format off
template <> struct ElementBits<Dtype::bf16>      { using Type = uint16_t; };
template <> struct ElementBits<Dtype::fp16>      { using Type = uint16_t; };
template <> struct ElementBits<Dtype::fp32>      { using Type = uint32_t; };
template <> struct ElementBits<Dtype::fp64>      { using Type = uint64_t; };
template <> struct ElementBits<Dtype::fp8_e4m3>  { using Type = uint8_t;  };
template <> struct ElementBits<Dtype::i32>       { using Type = uint32_t; };
template <> struct ElementBits<Dtype::i64>       { using Type = uint64_t; };
template <> struct ElementBits<Dtype::u8>        { using Type = uint8_t;  };
template <> struct ElementBits<Dtype::boolean>   { using Type = uint8_t;  };
template <> struct ElementBits<Dtype::complex64> { using Type = uint64_t; };  // real part in the lower half
// clang-format on

/// What an element is stored as.
template <Dtype D>
using BitsOf = typename ElementBits<D>::Type;

template <Dtype D>
inline constexpr bool kIsInteger = D == Dtype::i32 || D == Dtype::i64 || D == Dtype::u8 || D == Dtype::boolean;

/// A floating element (not complex64) as a double, exactly.
template <Dtype D>
PKB_HD inline double real_value(BitsOf<D> bits) {
  static_assert(!kIsInteger<D> && D != Dtype::complex64);
  if constexpr (D == Dtype::bf16) {
    return static_cast<double>(widen<Bf16Format>(bits));
  } else if constexpr (D == Dtype::fp16) {
    return static_cast<double>(widen<Fp16Format>(bits));
  } else if constexpr (D == Dtype::fp8_e4m3) {
    return static_cast<double>(widen<Fp8E4m3Format>(bits));
  } else if constexpr (D == Dtype::fp32) {
    return static_cast<double>(bit_copy<float>(bits));
  } else {
    return bit_copy<double>(bits);
  }
}

/// An integer or boolean element.
template <Dtype D>
PKB_HD inline int64_t integer_value(BitsOf<D> bits) {
  static_assert(kIsInteger<D>);
  if constexpr (D == Dtype::i32) {
    return static_cast<int32_t>(bits);
  } else {
    return static_cast<int64_t>(bits);
  }
}

/// A float or double as a floating element (complex64: the real part), rounded once.
template <Dtype D, class Real>
PKB_HD inline BitsOf<D> real_bits(Real value) {
  static_assert(!kIsInteger<D>);
  if constexpr (D == Dtype::bf16) {
    return static_cast<uint16_t>(narrow<Bf16Format>(value));
  } else if constexpr (D == Dtype::fp16) {
    return static_cast<uint16_t>(narrow<Fp16Format>(value));
  } else if constexpr (D == Dtype::fp8_e4m3) {
    return static_cast<uint8_t>(narrow<Fp8E4m3Format>(value));
  } else if constexpr (D == Dtype::fp64) {
    return bit_copy<uint64_t>(static_cast<double>(value));
  } else {
    return bit_copy<uint32_t>(static_cast<float>(value));
  }
}

/// An integer that fits as an integer element; boolean: whether it is not zero.
template <Dtype D>
PKB_HD inline BitsOf<D> integer_bits(int64_t value) {
  static_assert(kIsInteger<D>);
  if constexpr (D == Dtype::boolean) {
    return static_cast<uint8_t>(value != 0);
  } else {
    return static_cast<BitsOf<D>>(value);
  }
}

/// Calls `work` with the element type as a compile-time constant: work(std::integral_constant<Dtype, D>{}).
template <class Work>
decltype(auto) with_dtype(Dtype dtype, Work&& work) {
  switch (dtype) {
    case Dtype::bf16:
      return work(std::integral_constant<Dtype, Dtype::bf16>{});
    case Dtype::fp16:
      return work(std::integral_constant<Dtype, Dtype::fp16>{});
    case Dtype::fp64:
      return work(std::integral_constant<Dtype, Dtype::fp64>{});
    case Dtype::fp8_e4m3:
      return work(std::integral_constant<Dtype, Dtype::fp8_e4m3>{});
    case Dtype::i32:
      return work(std::integral_constant<Dtype, Dtype::i32>{});
    case Dtype::i64:
      return work(std::integral_constant<Dtype, Dtype::i64>{});
    case Dtype::u8:
      return work(std::integral_constant<Dtype, Dtype::u8>{});
    case Dtype::boolean:
      return work(std::integral_constant<Dtype, Dtype::boolean>{});
    case Dtype::complex64:
      return work(std::integral_constant<Dtype, Dtype::complex64>{});
    case Dtype::fp32:
      break;
  }
  return work(std::integral_constant<Dtype, Dtype::fp32>{});
}

}  // namespace pkb
