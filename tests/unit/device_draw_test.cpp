// SPDX-License-Identifier: Apache-2.0
#include "device/draw.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "device/philox.h"
#include "device_support.h"

namespace pkb {
namespace {

using Distribution = Device::Distribution;
using test::drawn;
using test::drawn_bytes;

constexpr Device::DrawKey kKey{1, 2, 3};

void expect_block(const PhiloxBlock& counter, PhiloxKey key, const PhiloxBlock& expected) {
  const PhiloxBlock block = philox(counter, key);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(block.lane[i], expected.lane[i]) << i;
}

TEST(Philox, PublishedKnownAnswers) {
  expect_block({{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  constexpr uint32_t kOnes = 0xffffffff;
  expect_block({{kOnes, kOnes, kOnes, kOnes}}, {kOnes, kOnes}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0},
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

class Draw : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_device(DeviceKind::host, 0, "pkb-unit");
};

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};

template <class T>
Moments moments_of(const std::vector<T>& values) {
  const double count = static_cast<double>(values.size());
  Moments moments;
  for (const T value : values) moments.mean += static_cast<double>(value) / count;
  double fourth = 0;
  for (const T value : values) {
    const double square = std::pow(static_cast<double>(value) - moments.mean, 2);
    moments.variance += square / count;
    fourth += square * square / count;
  }
  moments.kurtosis = fourth / (moments.variance * moments.variance);
  return moments;
}

TEST_F(Draw, NormalHasItsMoments) {
  constexpr int64_t kCount = 400'000;  // standard errors: mean 0.0032 sigma^-1, variance 0.0022
  const auto values = drawn<float>(*device_, Dtype::fp32, kCount, kKey, Distribution::normal, 3, 2);
  const Moments moments = moments_of(values);
  EXPECT_NEAR(moments.mean, 3, 0.016);
  EXPECT_NEAR(moments.variance, 4, 0.045);
  EXPECT_NEAR(moments.kurtosis, 3 - 1.2 / 8, 0.04);  // of a sum of eight uniforms
  const auto wide = drawn<double>(*device_, Dtype::fp64, kCount, kKey, Distribution::normal, 3, 2);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], wide[i], 2e-6);
}

TEST_F(Draw, UniformFillsItsRangeAndNoMore) {
  constexpr int64_t kCount = 400'000;
  const auto values = drawn<float>(*device_, Dtype::fp32, kCount, kKey, Distribution::uniform, -1, 3);
  EXPECT_NEAR(moments_of(values).mean, 1, 0.01);
  EXPECT_NEAR(moments_of(values).variance, 16.0 / 12, 0.01);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*low, -1.0f);
  EXPECT_LT(*high, 3.0f);
  EXPECT_LT(*low, -0.999f);
  EXPECT_GT(*high, 2.999f);
  const auto wide = drawn<double>(*device_, Dtype::fp64, kCount, kKey, Distribution::uniform, -1, 3);
  EXPECT_NEAR(moments_of(wide).mean, 1, 0.01);
  EXPECT_NE(wide[0], static_cast<double>(static_cast<float>(wide[0])));  // more bits than a float holds
}

TEST_F(Draw, UniformStaysBelowItsEndWhereRoundingWouldReachIt) {
  // [1, 1 + 2^-22) holds two floats, and half of the sums round up to the end.
  const float end = 1.0f + 0x1p-22f;
  for (const float value : drawn<float>(*device_, Dtype::fp32, 1000, kKey, Distribution::uniform, 1, end)) {
    ASSERT_GE(value, 1.0f);
    ASSERT_LT(value, end);
  }
}

TEST_F(Draw, IntegersAreUniformAndInclusive) {
  std::map<int32_t, int> counts;
  for (const int32_t value : drawn<int32_t>(*device_, Dtype::i32, 70'000, kKey, Distribution::integers, -3, 3)) {
    ++counts[value];
  }
  EXPECT_EQ(counts.size(), 7u);
  for (const auto& [value, count] : counts) {
    EXPECT_GE(value, -3);
    EXPECT_LE(value, 3);
    EXPECT_NEAR(count, 10'000, 500);  // 5 standard deviations
  }
  const auto wide = drawn<int64_t>(*device_, Dtype::i64, 70'000, kKey, Distribution::integers, 0, 0x1p53);
  EXPECT_NEAR(moments_of(wide).mean, 0x1p52, 0x1p53 / 200);
  for (const int64_t value : drawn<int64_t>(*device_, Dtype::i64, 100, kKey, Distribution::integers, 5, 5)) {
    ASSERT_EQ(value, 5);
  }
  std::map<uint8_t, int> bytes;
  for (const uint8_t value : drawn<uint8_t>(*device_, Dtype::u8, 50'000, kKey, Distribution::integers, 0, 255)) {
    ++bytes[value];
  }
  EXPECT_EQ(bytes.size(), 256u);
  std::map<float, int> floats;
  for (const float value : drawn<float>(*device_, Dtype::fp32, 1000, kKey, Distribution::integers, -1, 1))
    ++floats[value];
  EXPECT_EQ(floats.size(), 3u);
}

TEST_F(Draw, TernaryIsZeroAsOftenAsAsked) {
  std::map<float, int> counts;
  for (const float value : drawn<float>(*device_, Dtype::fp32, 100'000, kKey, Distribution::ternary, 0.3, 0)) {
    ++counts[value];
  }
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_NEAR(counts[0], 70'000, 800);
  EXPECT_NEAR(counts[1], 15'000, 600);
  EXPECT_NEAR(counts[-1], 15'000, 600);
  for (const float value : drawn<float>(*device_, Dtype::fp32, 1000, kKey, Distribution::ternary, 1, 0)) {
    ASSERT_EQ(std::fabs(value), 1.0f);
  }
  for (const float value : drawn<float>(*device_, Dtype::fp32, 1000, kKey, Distribution::ternary, 0, 0)) {
    ASSERT_EQ(value, 0.0f);
  }
}

TEST_F(Draw, ConstantIsTheValue) {
  EXPECT_EQ(drawn<float>(*device_, Dtype::fp32, 2, kKey, Distribution::constant, 2.5, 0),
            (std::vector<float>{2.5f, 2.5f}));
  EXPECT_EQ(drawn<int64_t>(*device_, Dtype::i64, 1, kKey, Distribution::constant, -7, 0), (std::vector<int64_t>{-7}));
  EXPECT_EQ(drawn<float>(*device_, Dtype::complex64, 1, kKey, Distribution::constant, 2, 0),
            (std::vector<float>{2, 0}));
}

TEST_F(Draw, ComplexComponentsAreIndependent) {
  const auto values = drawn<float>(*device_, Dtype::complex64, 100'000, kKey, Distribution::normal, 0, 1);
  ASSERT_EQ(values.size(), 200'000u);
  double product = 0;
  for (std::size_t i = 0; i < values.size(); i += 2) product += static_cast<double>(values[i] * values[i + 1]);
  EXPECT_NEAR(product / 100'000, 0, 0.016);
  EXPECT_NEAR(moments_of(values).variance, 1, 0.02);
}

TEST_F(Draw, NarrowTypesAreTheFp32DrawRoundedOnce) {
  for (const Distribution distribution : {Distribution::normal, Distribution::uniform}) {
    const auto wide = drawn<float>(*device_, Dtype::fp32, 1000, kKey, distribution, 0.5, 2);
    const auto narrow_values = drawn<uint16_t>(*device_, Dtype::bf16, 1000, kKey, distribution, 0.5, 2);
    for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(narrow_values[i], real_bits<Dtype::bf16>(wide[i]));
  }
}

TEST_F(Draw, EveryPartOfTheKeyMatters) {
  const auto draw = [&](Device::DrawKey key) {
    return drawn<float>(*device_, Dtype::fp32, 64, key, Distribution::normal, 0, 1);
  };
  EXPECT_EQ(draw(kKey), draw(kKey));
  const auto base = draw(kKey);
  for (const Device::DrawKey other : {Device::DrawKey{2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {2, 1, 3}, {1, 2, 3ull << 32}}) {
    const auto values = draw(other);
    for (std::size_t i = 0; i < base.size(); ++i) ASSERT_NE(values[i], base[i]) << i;
  }
}

TEST_F(Draw, SlicesAreCutFromTheWhole) {
  constexpr int64_t kRows = 6, kColumns = 10, kFirst = 3, kInner = 4;  // columns 3 to 6
  for (const Dtype dtype : test::kAllDtypes) {
    const auto whole = drawn_bytes(*device_, dtype, kRows * kColumns, {0, kRows * kColumns, kRows * kColumns}, kKey,
                                   Distribution::integers, 0, 1);
    const auto slice =
        drawn_bytes(*device_, dtype, kRows * kInner, {kFirst, kColumns, kInner}, kKey, Distribution::integers, 0, 1);
    const std::size_t size = size_of(dtype);
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>((row * kColumns + kFirst) * size);
      ASSERT_TRUE(std::equal(from, from + static_cast<std::ptrdiff_t>(kInner * size),
                             slice.begin() + static_cast<std::ptrdiff_t>(row * kInner * size)))
          << name_of(dtype);
    }
  }
}

// The numbers come from an independent program (Python integers and IEEE arithmetic).
TEST_F(Draw, BitsAreTheSameOnEveryMachine) {
  const auto hash_of = [&](Dtype dtype, Distribution distribution, double a, double b) {
    const auto bytes = drawn_bytes(*device_, dtype, 1000, {1ll << 33, 1000, 1000}, kKey, distribution, a, b);
    return device_->hash(bytes.data(), bytes.size(), Stream{});
  };
  EXPECT_EQ(hash_of(Dtype::fp32, Distribution::normal, 0.1, 0.7), 4559168546333316776ull);
  EXPECT_EQ(hash_of(Dtype::fp64, Distribution::normal, 0.1, 0.7), 15830652567178350104ull);
  EXPECT_EQ(hash_of(Dtype::bf16, Distribution::uniform, -0.1, 0.7), 4201555571557400333ull);
  EXPECT_EQ(hash_of(Dtype::i32, Distribution::integers, -100, 1000), 18394008749857672098ull);
  EXPECT_EQ(hash_of(Dtype::fp8_e4m3, Distribution::ternary, 0.5, 0), 14749574724077499854ull);
}

TEST_F(Draw, RefusesWhatTheDtypeCannotHold) {
  const auto draw = [&](Dtype dtype, Distribution distribution, double a, double b) {
    drawn_bytes(*device_, dtype, 1, {0, 1, 1}, kKey, distribution, a, b);
  };
  EXPECT_THROW(draw(Dtype::i32, Distribution::normal, 0, 1), Error);
  EXPECT_THROW(draw(Dtype::boolean, Distribution::uniform, 0, 1), Error);
  EXPECT_THROW(draw(Dtype::u8, Distribution::integers, 0, 256), Error);
  EXPECT_THROW(draw(Dtype::u8, Distribution::ternary, 0.5, 0), Error);
  EXPECT_THROW(draw(Dtype::i32, Distribution::integers, 0, 0x1p31), Error);
  EXPECT_THROW(draw(Dtype::i64, Distribution::integers, 2, 1), Error);
  EXPECT_THROW(draw(Dtype::fp32, Distribution::integers, 0, 1.5), Error);
  EXPECT_THROW(draw(Dtype::fp32, Distribution::uniform, 2, 1), Error);
  EXPECT_THROW(draw(Dtype::fp32, Distribution::normal, 0, -1), Error);
  EXPECT_THROW(draw(Dtype::fp32, Distribution::normal, NAN, 1), Error);
  EXPECT_THROW(draw(Dtype::fp32, Distribution::ternary, 1.5, 0), Error);
  EXPECT_THROW(draw(Dtype::boolean, Distribution::constant, 2, 0), Error);
  EXPECT_THROW(drawn_bytes(*device_, Dtype::fp32, 1, {0, 1, 0}, kKey, Distribution::normal, 0, 1), Error);
}

TEST_F(Draw, PoisonIsNanForFloatsAndRandomForTheRest) {
  for (const Dtype dtype : test::kAllDtypes) {
    const std::size_t bytes = 37 * size_of(dtype);
    const auto poisoned = [&](Device::DrawKey key) {
      test::Buffer<unsigned char> buffer(*device_, bytes);
      device_->poison(buffer.data(), dtype, 37, key, Stream{});
      device_->synchronize();
      return buffer.read();
    };
    const auto first = poisoned(kKey), again = poisoned(kKey), other = poisoned({1, 2, 4});
    EXPECT_EQ(first, again);
    if (is_floating(dtype)) {
      EXPECT_EQ(first, std::vector<unsigned char>(bytes, 0xff)) << name_of(dtype);
    } else {
      EXPECT_NE(first, other) << name_of(dtype);
      EXPECT_GT(std::set<unsigned char>(first.begin(), first.end()).size(), 25u) << name_of(dtype);
    }
  }
  EXPECT_TRUE(std::isnan(real_value<Dtype::bf16>(0xffff)));
  EXPECT_TRUE(std::isnan(real_value<Dtype::fp16>(0xffff)));
  EXPECT_TRUE(std::isnan(real_value<Dtype::fp8_e4m3>(0xff)));
  EXPECT_TRUE(std::isnan(real_value<Dtype::fp32>(0xffffffff)));
  EXPECT_TRUE(std::isnan(real_value<Dtype::fp64>(~0ull)));
}

}  // namespace
}  // namespace pkb
