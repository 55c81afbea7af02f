// SPDX-License-Identifier: Apache-2.0
#include "device/compare.h"

#include <cmath>
#include <limits>

#include "device/hash.h"
#include "device_support.h"

namespace pkb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Compare : public testing::Test {
 protected:
  template <Dtype D>
  Comparison compare(const std::vector<BitsOf<D>>& got, const std::vector<BitsOf<D>>& expected, CompareRule rule = {}) {
    return device_->compare(got.data(), expected.data(), D, static_cast<int64_t>(got.size()), rule, Stream{});
  }
  template <Dtype D = Dtype::fp32>
  Comparison compare_reals(const std::vector<double>& got, const std::vector<double>& expected, CompareRule rule = {}) {
    return compare<D>(bits<D>(got), bits<D>(expected), rule);
  }
  bool right(double got, double expected, CompareRule rule = {}) {
    return compare_reals({got}, {expected}, rule).wrong == 0;
  }
  template <Dtype D>
  static std::vector<BitsOf<D>> bits(const std::vector<double>& values) {
    std::vector<BitsOf<D>> all;
    for (const double value : values) all.push_back(real_bits<D>(value));
    return all;
  }
  static uint64_t complex(float real, float imaginary) {
    return bit_copy<uint32_t>(real) | (static_cast<uint64_t>(bit_copy<uint32_t>(imaginary)) << 32);
  }

  std::unique_ptr<Device> device_ = make_device(DeviceKind::host, 0, "pkb-unit");
};

TEST_F(Compare, ToleranceIsAbsolutePlusRelative) {
  EXPECT_TRUE(right(10.5, 10, {.atol = 0.5}));
  EXPECT_FALSE(right(10.5, 10, {.atol = 0.4375}));
  EXPECT_TRUE(right(-10.5, -10, {.rtol = 0.05}));
  EXPECT_TRUE(right(10.5, 10, {.atol = 0.25, .rtol = 0.025}));
  EXPECT_FALSE(right(10.5, 10, {.atol = 0.25, .rtol = 0.0248}));
  EXPECT_FALSE(right(1, 0, {.rtol = 100}));  // relative to the expected value
}

TEST_F(Compare, ExactMeansEqualValues) {
  EXPECT_TRUE(right(1, 1));
  EXPECT_FALSE(right(std::nextafter(1.0f, 2.0f), 1));
  EXPECT_TRUE(right(0.0, -0.0));
  EXPECT_TRUE(right(kNan, kNan));
}

TEST_F(Compare, NanAndInfinity) {
  const CompareRule loose{.atol = 1e30, .rtol = 1};
  EXPECT_FALSE(right(kNan, 1, loose));
  EXPECT_FALSE(right(1, kNan, loose));
  EXPECT_FALSE(right(kInfinity, kNan, loose));
  EXPECT_TRUE(right(kInfinity, kInfinity, loose));
  EXPECT_FALSE(right(-kInfinity, kInfinity, loose));
  EXPECT_FALSE(right(1, kInfinity, loose));
  EXPECT_FALSE(right(kInfinity, 1, loose));
  EXPECT_FALSE(right(kNan, kInfinity, loose));
  EXPECT_TRUE(right(kInfinity, kInfinity));
}

TEST_F(Compare, BitwiseTellsZerosAndNansApart) {
  const CompareRule bitwise{.atol = 1, .bitwise = true};
  EXPECT_FALSE(right(0.0, -0.0, bitwise));
  EXPECT_FALSE(right(1.5, 1, bitwise));
  EXPECT_TRUE(right(1.5, 1.5, bitwise));
  EXPECT_EQ(compare<Dtype::fp32>({0x7fc00001u}, {0x7fc00000u}, bitwise).wrong, 1);
  EXPECT_EQ(compare<Dtype::fp32>({0x7fc00001u}, {0x7fc00000u}).wrong, 0);
  EXPECT_EQ(compare<Dtype::i32>({1}, {2}, bitwise).wrong, 1);
  EXPECT_EQ(compare<Dtype::complex64>({complex(0, -0.0f)}, {complex(0, 0)}, bitwise).wrong, 1);
  EXPECT_EQ(compare<Dtype::complex64>({complex(0, -0.0f)}, {complex(0, 0)}).wrong, 0);
}

TEST_F(Compare, EveryRealDtype) {
  const CompareRule rule{.atol = 0.125};
  const std::vector<double> got{1, 2, 3.5}, expected{1, 2.125, 3};
  const auto check = [](const Comparison& result) {
    EXPECT_EQ(result.wrong, 1);
    EXPECT_EQ(result.first, 2);
    EXPECT_EQ(result.max_absolute, 0.5);
  };
  check(compare_reals<Dtype::bf16>(got, {1, 2.125, 3}, rule));
  check(compare_reals<Dtype::fp16>(got, expected, rule));
  check(compare_reals<Dtype::fp32>(got, expected, rule));
  check(compare_reals<Dtype::fp64>(got, expected, rule));
  check(compare_reals<Dtype::fp8_e4m3>(got, {1, 2, 3}, rule));
}

TEST_F(Compare, Integers) {
  EXPECT_EQ(compare<Dtype::i32>({5, 0xffffffffu}, {5, 0xffffffffu}).wrong, 0);
  const Comparison far = compare<Dtype::i32>({0x80000000u}, {0x7fffffffu});
  EXPECT_EQ(far.wrong, 1);
  EXPECT_EQ(far.max_absolute, 4294967295.0);
  EXPECT_EQ(compare<Dtype::i64>({(1ull << 62) + 1}, {1ull << 62}).wrong, 1);  // one double, two integers
  EXPECT_EQ(compare<Dtype::i64>({11}, {10}, {.atol = 1}).wrong, 0);
  EXPECT_EQ(compare<Dtype::i64>({~0ull}, {1}, {.atol = 1}).wrong, 1);
  EXPECT_EQ(compare<Dtype::u8>({255}, {0}).max_absolute, 255);
  EXPECT_EQ(compare<Dtype::boolean>({1, 2}, {1, 1}).first, 1);
  EXPECT_EQ(compare<Dtype::i64>({1ull << 63}, {1ull << 63}).squares_expected, 0x1p126);
}

TEST_F(Compare, ComplexByMagnitude) {
  const CompareRule rule{.atol = 5};
  EXPECT_EQ(compare<Dtype::complex64>({complex(4, 5)}, {complex(1, 1)}, rule).wrong, 0);  // |3 + 4i|
  EXPECT_EQ(compare<Dtype::complex64>({complex(4, 5)}, {complex(1, 1)}, {.atol = 4.9}).wrong, 1);
  EXPECT_EQ(compare<Dtype::complex64>({complex(3, 4.5f)}, {complex(3, 4)}, {.rtol = 0.1}).wrong, 0);
  EXPECT_EQ(compare<Dtype::complex64>({complex(4, 5)}, {complex(1, 1)}).max_absolute, 5);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(compare<Dtype::complex64>({complex(1, nan)}, {complex(1, nan)}, rule).wrong, 0);
  EXPECT_EQ(compare<Dtype::complex64>({complex(nan, 1)}, {complex(1, nan)}, rule).wrong, 1);
  const Comparison lost = compare<Dtype::complex64>({complex(1, nan)}, {complex(1, 1)}, rule);
  EXPECT_EQ(lost.wrong, 1);
  EXPECT_EQ(lost.not_finite, 1);
}

TEST_F(Compare, ReportsTheFirstWrongElementAndStatistics) {
  const Comparison result =
      compare_reals({1, 5, 3, 2, kNan, kInfinity, 7}, {1, 4, 3, 4, 1, 1, kInfinity}, {.atol = 0.5});
  EXPECT_EQ(result.elements, 7);
  EXPECT_EQ(result.wrong, 5);
  EXPECT_EQ(result.first, 1);
  EXPECT_EQ(result.got_bits, bit_copy<uint32_t>(5.0f));
  EXPECT_EQ(result.expected_bits, bit_copy<uint32_t>(4.0f));
  EXPECT_EQ(result.not_finite, 2);
  EXPECT_EQ(result.max_absolute, 2);
  EXPECT_EQ(result.max_relative, 0.5);
  EXPECT_EQ(result.squares_difference, 1 + 4);
  EXPECT_EQ(result.squares_expected, 1 + 16 + 9 + 16);
}

TEST_F(Compare, NothingIsWrongWithNothing) {
  const Comparison result = compare_reals({}, {});
  EXPECT_EQ(result.elements, 0);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.first, -1);
  EXPECT_EQ(compare_reals({1}, {0}, {.atol = 2}).max_relative, 0);  // no relative error against 0
}

TEST_F(Compare, PartsMergeToTheWhole) {
  Comparison total, part;
  compare_element<Dtype::fp32>(total, bit_copy<uint32_t>(2.0f), bit_copy<uint32_t>(1.0f), 9, {});
  compare_element<Dtype::fp32>(part, bit_copy<uint32_t>(4.0f), bit_copy<uint32_t>(1.0f), 5, {});
  merge(total, part);
  merge(total, Comparison{});
  EXPECT_EQ(total.wrong, 2);
  EXPECT_EQ(total.first, 5);
  EXPECT_EQ(total.max_absolute, 3);
  EXPECT_EQ(total.max_relative, 3);
  EXPECT_EQ(total.squares_difference, 10);
}

// ---- hashes

class Hash : public Compare {
 protected:
  uint64_t hash(const void* data, std::size_t bytes) { return device_->hash(data, bytes, Stream{}); }
};

TEST_F(Hash, DetectsSwapsAndSingleBits) {
  std::vector<uint64_t> words(100);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i % 7;
  const uint64_t before = hash(words.data(), 800);
  EXPECT_EQ(hash(words.data(), 800), before);
  std::swap(words[3], words[4]);
  EXPECT_NE(hash(words.data(), 800), before);
  std::swap(words[3], words[4]);
  for (int bit = 0; bit < 64; ++bit) {
    words[50] ^= 1ull << bit;
    EXPECT_NE(hash(words.data(), 800), before);
    words[50] ^= 1ull << bit;
  }
  EXPECT_EQ(hash(words.data(), 800), before);
}

TEST_F(Hash, CountsEveryByteAtAnyAlignment) {
  std::vector<unsigned char> bytes(64, 0);
  EXPECT_NE(hash(bytes.data(), 8), hash(bytes.data(), 16));  // zeros of another length
  EXPECT_NE(hash(bytes.data(), 3), hash(bytes.data(), 4));
  for (std::size_t length = 1; length < 30; ++length) {
    const uint64_t before = hash(bytes.data() + 1, length);
    EXPECT_EQ(hash(bytes.data() + 3, length), before);
    bytes[length] ^= 0x80;  // the last byte
    EXPECT_NE(hash(bytes.data() + 1, length), before) << length;
    bytes[length] ^= 0x80;
    bytes[length + 1] ^= 0x80;  // the one after
    EXPECT_EQ(hash(bytes.data() + 1, length), before) << length;
    bytes[length + 1] ^= 0x80;
  }
}

}  // namespace
}  // namespace pkb
