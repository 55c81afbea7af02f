// SPDX-License-Identifier: Apache-2.0
//
// Conversions against a slow reference that knows the formats only as sign * significand * 2^exponent in doubles.
#include "device/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pkb {
namespace {

template <class Format>
double reference_value(uint32_t code) {
  const int exponent_field = static_cast<int>(code >> Format::kMantissaBits) & ((1 << Format::kExponentBits) - 1);
  const int mantissa = static_cast<int>(code) & ((1 << Format::kMantissaBits) - 1);
  const double sign = (code >> (Format::kExponentBits + Format::kMantissaBits)) != 0 ? -1 : 1;
  const double significand = exponent_field == 0 ? mantissa : mantissa + (1 << Format::kMantissaBits);
  const int exponent = std::max(exponent_field, 1) - Format::kBias - Format::kMantissaBits;
  return sign * std::ldexp(significand, exponent);
}

template <class Format>
constexpr uint32_t sign_bit() {
  return 1u << (Format::kExponentBits + Format::kMantissaBits);
}

template <class Format>
class Narrow : public testing::Test {};
using Formats = testing::Types<Bf16Format, Fp16Format, Fp8E4m3Format>;
TYPED_TEST_SUITE(Narrow, Formats);

TYPED_TEST(Narrow, WidensEveryCode) {
  for (uint32_t code = 0; code < 2 * sign_bit<TypeParam>(); ++code) {
    const uint32_t magnitude = code & (sign_bit<TypeParam>() - 1);
    const float value = widen<TypeParam>(code);
    ASSERT_EQ(std::signbit(value), code != magnitude) << code;
    if (magnitude <= TypeParam::kLargest) {
      ASSERT_EQ(static_cast<double>(value), reference_value<TypeParam>(code)) << code;
    } else if (magnitude == TypeParam::kOverflow) {
      ASSERT_TRUE(std::isinf(value)) << code;
    } else {
      ASSERT_TRUE(std::isnan(value)) << code;
    }
  }
}

TYPED_TEST(Narrow, RestoresEveryCode) {
  for (uint32_t code = 0; code < 2 * sign_bit<TypeParam>(); ++code) {
    const float value = widen<TypeParam>(code);
    const uint32_t expected = std::isnan(value) ? (code & sign_bit<TypeParam>()) | TypeParam::kNan : code;
    ASSERT_EQ(narrow<TypeParam>(value), expected);
    ASSERT_EQ(narrow<TypeParam>(static_cast<double>(value)), expected);
  }
}

/// Between every two neighbours: the tie goes to the even code, anything beside it to the nearer.
template <class Format, class Real>
void expect_nearest_even() {
  for (uint32_t code = 0; code < Format::kLargest; ++code) {
    const double low = reference_value<Format>(code), high = reference_value<Format>(code + 1);
    const Real tie = static_cast<Real>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(tie), (low + high) / 2);
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(narrow<Format>(tie), even) << code;
    ASSERT_EQ(narrow<Format>(std::nextafter(tie, Real{0})), code) << code;
    ASSERT_EQ(narrow<Format>(std::nextafter(tie, std::numeric_limits<Real>::infinity())), code + 1) << code;
    ASSERT_EQ(narrow<Format>(-tie), even | sign_bit<Format>()) << code;
  }
}

TYPED_TEST(Narrow, RoundsFloatsToNearestEven) {
  expect_nearest_even<TypeParam, float>();
}
TYPED_TEST(Narrow, RoundsDoublesToNearestEven) {
  expect_nearest_even<TypeParam, double>();
}

TYPED_TEST(Narrow, TinyNumbersBecomeSignedZero) {
  EXPECT_EQ(narrow<TypeParam>(std::numeric_limits<double>::denorm_min()), 0u);
  EXPECT_EQ(narrow<TypeParam>(-std::numeric_limits<double>::denorm_min()), sign_bit<TypeParam>());
  EXPECT_EQ(narrow<TypeParam>(-0.0f), sign_bit<TypeParam>());
  EXPECT_EQ(narrow<TypeParam>(1e-300), 0u);
}

TYPED_TEST(Narrow, TheTieBeyondTheLargestOverflows) {
  const double step =
      reference_value<TypeParam>(TypeParam::kLargest) - reference_value<TypeParam>(TypeParam::kLargest - 1);
  const double tie = reference_value<TypeParam>(TypeParam::kLargest) + step / 2;
  EXPECT_EQ(narrow<TypeParam>(std::nextafter(tie, 0.0)), TypeParam::kLargest);
  EXPECT_EQ(narrow<TypeParam>(std::nextafter(tie, 1e300)), TypeParam::kOverflow);
  EXPECT_EQ(narrow<TypeParam>(1e300), TypeParam::kOverflow);
  EXPECT_EQ(narrow<TypeParam>(-std::numeric_limits<float>::infinity()), TypeParam::kOverflow | sign_bit<TypeParam>());
}

TEST(Element, KnownBits) {
  EXPECT_EQ(real_bits<Dtype::bf16>(1.0f), 0x3f80);
  EXPECT_EQ(real_bits<Dtype::fp16>(65520.0f), 0x7c00);
  EXPECT_EQ(real_bits<Dtype::fp16>(0.1), 0x2e66);
  EXPECT_EQ(real_bits<Dtype::fp8_e4m3>(448.0f), 0x7e);
  EXPECT_EQ(real_bits<Dtype::fp8_e4m3>(1000.0f), 0x7e);  // saturates
  EXPECT_EQ(real_bits<Dtype::fp8_e4m3>(1.0f), 0x38);
  EXPECT_EQ(real_bits<Dtype::fp32>(-2.0), 0xc0000000u);
  EXPECT_EQ(real_bits<Dtype::fp64>(1.0), 0x3ff0000000000000u);
  EXPECT_EQ(integer_bits<Dtype::i32>(-1), 0xffffffffu);
  EXPECT_EQ(integer_bits<Dtype::boolean>(7), 1);
  EXPECT_EQ(integer_value<Dtype::i32>(0xffffffffu), -1);
  EXPECT_EQ(integer_value<Dtype::u8>(0xff), 255);
}

TEST(Element, RoundsOnceFromDouble) {
  // Just above the bf16 tie between 1 and 1 + 2^-7, by less than a float can tell: rounding through float would give 1.
  EXPECT_EQ(real_bits<Dtype::bf16>(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
}

TEST(Element, StorageMatchesTheSizes) {
  for (int32_t value = 1; value <= 10; ++value) {
    const Dtype dtype = static_cast<Dtype>(value);
    EXPECT_EQ(with_dtype(dtype, [](auto tag) { return sizeof(BitsOf<decltype(tag)::value>); }), size_of(dtype));
    EXPECT_EQ(with_dtype(dtype, [](auto tag) { return decltype(tag)::value; }), dtype);
  }
}

}  // namespace
}  // namespace pkb
