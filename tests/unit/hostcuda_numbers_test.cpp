// SPDX-License-Identifier: Apache-2.0
//
// The narrow floating types against an independent reference: the nearest of all values the type has.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "hostcuda/cuda/bf16.h"
#include "hostcuda/cuda/fp16.h"
#include "hostcuda/cuda/fp8.h"

namespace pkb::hostcuda {
namespace {

/// A binary format described by its fields, valued in double.
struct Described {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }

  double value(uint32_t pattern) const {
    const double sign = pattern >> (bits() - 1) != 0 ? -1 : 1;
    const uint32_t exponent = pattern >> mantissa_bits & ((1u << exponent_bits) - 1);
    const uint32_t mantissa = pattern & ((1u << mantissa_bits) - 1);
    const uint32_t highest = (1u << exponent_bits) - 1;
    if (has_infinity && exponent == highest) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    if (!has_infinity && (pattern & (highest << mantissa_bits | ((1u << mantissa_bits) - 1))) ==
                             (highest << mantissa_bits | ((1u << mantissa_bits) - 1))) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double fraction = exponent == 0 ? std::ldexp(mantissa, 1 - bias() - mantissa_bits)
                                          : std::ldexp(mantissa + (1u << mantissa_bits),
                                                       static_cast<int>(exponent) - bias() - mantissa_bits);
    return sign * fraction;
  }

  /// The nearest pattern of a positive number, ties to even, by search over all positive values.
  uint32_t nearest(double x) const {
    static thread_local std::vector<double> values;
    static thread_local int values_bits = 0;
    if (values_bits != bits() * 16 + mantissa_bits) {
      values.clear();
      for (uint32_t p = 0; p < 1u << (bits() - 1); ++p) {
        const double v = value(p);
        if (!std::isfinite(v)) break;
        values.push_back(v);
      }
      // What would follow the largest: where rounding to infinity begins.
      values.push_back(2 * values.back() - values[values.size() - 2]);
      values_bits = bits() * 16 + mantissa_bits;
    }
    const auto above = std::lower_bound(values.begin(), values.end(), x);
    if (above == values.end()) return static_cast<uint32_t>(values.size() - 1);
    const auto i = static_cast<uint32_t>(above - values.begin());
    if (i == 0 || *above == x) return i;
    const double to_below = x - values[i - 1], to_above = *above - x;
    if (to_below != to_above) return to_below < to_above ? i - 1 : i;
    return i % 2 == 0 ? i : i - 1;
  }
};

constexpr Described kBf16{8, 7, true}, kFp16{5, 10, true}, kE4M3{4, 3, false}, kE5M2{5, 2, true};

template <class Format>
void every_pattern_has_its_value(const Described& described) {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const double expected = described.value(bits);
    const float got = Format::to_float(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(got), expected) << bits;
    ASSERT_EQ(std::signbit(got), bits >> 15 != 0) << bits;
    ASSERT_EQ(Format::from_float(got, detail::Rounding::nearest), bits);
  }
}

// Every value, the middle to the next, and the floats just beside both.
template <class Format>
void rounds_to_nearest_even(const Described& described) {
  for (uint32_t bits = 0; bits < 0x8000; ++bits) {
    const double value = described.value(bits), next = described.value(bits + 1);
    if (!std::isfinite(value) || bits + 1 >= 0x8000) break;
    const double middle = std::isfinite(next) ? (value + next) / 2 : value + (value - described.value(bits - 1)) / 2;
    for (const double centre : {value, middle}) {
      const auto exact = static_cast<float>(centre);
      for (const float x :
           {std::nextafterf(exact, 0.0f), exact, std::nextafterf(exact, std::numeric_limits<float>::infinity())}) {
        if (!std::isfinite(x)) continue;
        const uint32_t expected = described.nearest(x);
        ASSERT_EQ(Format::from_float(x, detail::Rounding::nearest), expected) << x;
        ASSERT_EQ(Format::from_float(-x, detail::Rounding::nearest), expected | 0x8000) << x;
      }
    }
  }
}

TEST(HostCudaNumbers, Bf16HasEveryValue) {
  every_pattern_has_its_value<BrainFormat>(kBf16);
}
TEST(HostCudaNumbers, Fp16HasEveryValue) {
  every_pattern_has_its_value<HalfFormat>(kFp16);
}
TEST(HostCudaNumbers, Bf16RoundsToNearestEven) {
  rounds_to_nearest_even<BrainFormat>(kBf16);
}
TEST(HostCudaNumbers, Fp16RoundsToNearestEven) {
  rounds_to_nearest_even<HalfFormat>(kFp16);
}

TEST(HostCudaNumbers, OtherRoundings) {
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16_rz(1.999f)), 0x3fff);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16_ru(1.999f)), 0x4000);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16_rd(-1.999f)), 0xc000);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16_ru(-1.999f)), 0xbfff);
  EXPECT_EQ(__half_as_ushort(__float2half_rz(1e9f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_ru(1e9f)), 0x7c00);
  EXPECT_EQ(__half_as_ushort(__float2half_rd(-1e9f)), 0xfc00);
  EXPECT_EQ(__half_as_ushort(__float2half_ru(1e-30f)), 1);
  EXPECT_EQ(__half_as_ushort(__float2half_rd(1e-30f)), 0);
  EXPECT_EQ(__half_as_ushort(__float2half(std::nanf(""))), 0x7fff);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16(-std::nanf(""))), 0x7fff);
}

// One rounding of the exact result, on random bit patterns; a double holds the results compared here exactly.
template <class Type>
void arithmetic_rounds_once(const Described& described, uint32_t largest) {
  std::mt19937 random(7);
  const auto expect = [&](double exact, Type got, const char* operation) {
    if (std::isnan(exact)) return;
    const uint32_t expected = described.nearest(std::fabs(exact)) | (std::signbit(exact) ? 0x8000u : 0u);
    ASSERT_EQ(got.__x, expected) << operation;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto draw = [&] {
      return Type::from_bits(static_cast<unsigned short>(random() % largest | (random() & 1) << 15));
    };
    const Type a = draw(), b = draw(), c = draw();
    const double x = a, y = b, z = c;
    expect(x + y, a + b, "+");
    expect(x * y, __hmul(a, b), "*");
    if (std::fabs(x * y + z) > 0 && std::fabs(z) < 1e4 && std::fabs(x * y) < 1e4 && std::fabs(z) > 1e-4 &&
        std::fabs(x * y) > 1e-4) {
      expect(x * y + z, __hfma(a, b, c), "fma");
    }
  }
}
TEST(HostCudaNumbers, Bf16ArithmeticRoundsOnce) {
  arithmetic_rounds_once<__nv_bfloat16>(kBf16, 0x5f00);
}
TEST(HostCudaNumbers, Fp16ArithmeticRoundsOnce) {
  arithmetic_rounds_once<__half>(kFp16, 0x5a00);
}

TEST(HostCudaNumbers, FusedMultiplyAddSeesWhatADoubleLoses) {
  const __nv_bfloat16 x = 1.5f, y = 1.0078125f, one = 1.0f;
  const __nv_bfloat16 tiny = __nv_bfloat16::from_bits(0x0080);  // 2^-126
  // The product lies in the middle between two values, and the tiny summand decides.
  ASSERT_EQ(static_cast<double>(x) * static_cast<double>(y), (kBf16.value(0x3fc1) + kBf16.value(0x3fc2)) / 2);
  EXPECT_EQ(__hfma(x, y, tiny).__x, 0x3fc2);
  EXPECT_EQ(__hfma(x, y, -tiny).__x, 0x3fc1);
  EXPECT_EQ(__hfma(-x, y, tiny).__x, 0xbfc1);
  EXPECT_EQ(__hfma(one, one, tiny).__x, one.__x);
}

TEST(HostCudaNumbers, Comparisons) {
  const __half one = 1.0f, two = 2, nan = __ushort_as_half(0x7e00), zero = 0.0f, minus_zero = -0.0f;
  EXPECT_TRUE(one < two && two > one && one <= one && one >= one && one == one && one != two);
  EXPECT_FALSE(nan == nan || nan != nan || nan < one || __hgt(nan, one));
  EXPECT_TRUE(__hisnan(nan) && zero == minus_zero);
  EXPECT_EQ(static_cast<float>(__hmax(nan, one)), 1.0f);
  EXPECT_TRUE(__hisnan(__hmax_nan(nan, one)));
  EXPECT_EQ(__hisinf(__float2half(-INFINITY)), -1);
  EXPECT_EQ(static_cast<int>(__half(-3.7f)), -3);
}

TEST(HostCudaNumbers, Pairs) {
  const __nv_bfloat162 pair = __float22bfloat162_rn(float2{1.5f, -2.0f});
  EXPECT_EQ(std::bit_cast<uint32_t>(pair), 0xc0003fc0u) << "the first element lies in the lower half";
  const float2 floats = __bfloat1622float2(__hfma2(pair, pair, __float2bfloat162_rn(1.0f)));
  EXPECT_EQ(floats.x, 3.25f);
  EXPECT_EQ(floats.y, 5.0f);
  EXPECT_EQ(__low2float(pair), 1.5f);
  EXPECT_EQ(__high2float(pair), -2.0f);
  EXPECT_EQ(static_cast<float>(__high2half(__halves2half2(__half(3), __half(4)))), 4.0f);
}

template <class Format>
void fp8_of(const Described& described, uint8_t largest) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const double expected = described.value(bits);
    const float got = from_fp8<Format>(static_cast<uint8_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got));
      continue;
    }
    EXPECT_EQ(static_cast<double>(got), expected) << bits;
    EXPECT_EQ(std::signbit(got), bits >= 128) << bits;
  }
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (i % 2 == 0) {
      const auto pattern = static_cast<uint32_t>(random() % largest);
      x = static_cast<float>(described.value(pattern) * (1 + 0.0625 * static_cast<double>(random() % 17)));
    }
    if (std::isnan(x)) continue;
    const uint32_t nearest = std::min<uint32_t>(described.nearest(std::fabs(static_cast<double>(x))), largest);
    ASSERT_EQ(to_fp8<Format>(x, true), nearest | (std::signbit(x) ? 0x80u : 0u)) << x;
  }
}
TEST(HostCudaNumbers, E4M3) {
  fp8_of<E4M3>(kE4M3, 0x7e);
}
TEST(HostCudaNumbers, E5M2) {
  fp8_of<E5M2>(kE5M2, 0x7b);
}

TEST(HostCudaNumbers, Fp8Overflow) {
  EXPECT_EQ(__nv_fp8_e4m3(1e6f).__x, 0x7e);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e6f, __NV_NOSAT, __NV_E4M3), 0x7f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(-1e6f, __NV_NOSAT, __NV_E5M2), 0xfc);
  EXPECT_EQ(__nv_fp8_e5m2(std::nanf("")).__x, 0x7f);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(-448.0f)), -448.0f);
  const float4 four = static_cast<float4>(__nv_fp8x4_e4m3(float4{1, 2, -3, 0.5f}));
  EXPECT_EQ(four.z, -3.0f);
  EXPECT_EQ(four.w, 0.5f);
}

TEST(HostCudaNumbers, IntegerIntrinsics) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.9f), -2);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_rn(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-1e20f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2uint_rz(-5.0f), 0u);
  EXPECT_EQ(__double2ull_rz(1e30), std::numeric_limits<unsigned long long>::max());
  EXPECT_EQ(__float2int_rn(std::nanf("")), 0);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__byte_perm(0x44332211, 0x88776655, 0x7531), 0x88664422u);
  EXPECT_EQ(__funnelshift_l(0x80000000u, 1u, 1), 3u);
  EXPECT_EQ(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(__dp4a(0x01020304, 0x01010101, 5), 15);
  EXPECT_EQ(min(-1, 2), -1);
  EXPECT_EQ(max(3u, 2), 3u);
}

}  // namespace
}  // namespace pkb::hostcuda
