// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/error.h"
#include "pkb/candidate.h"

namespace pkb {
namespace {

const std::map<Dtype, std::pair<std::string, std::size_t>> kAll{
    {Dtype::bf16, {"bf16", 2}},         {Dtype::fp16, {"fp16", 2}},
    {Dtype::fp32, {"fp32", 4}},         {Dtype::fp64, {"fp64", 8}},
    {Dtype::fp8_e4m3, {"fp8_e4m3", 1}}, {Dtype::i32, {"i32", 4}},
    {Dtype::i64, {"i64", 8}},           {Dtype::u8, {"u8", 1}},
    {Dtype::boolean, {"bool", 1}},      {Dtype::complex64, {"complex64", 8}}};

TEST(Dtype, NamesAndSizes) {
  for (const auto& [dtype, expected] : kAll) {
    EXPECT_EQ(name_of(dtype), expected.first);
    EXPECT_EQ(size_of(dtype), expected.second) << expected.first;
    EXPECT_EQ(dtype_named(expected.first), dtype);
  }
}

TEST(Dtype, UnknownNamesAreNone) {
  EXPECT_FALSE(dtype_named("float"));
  EXPECT_FALSE(dtype_named(""));
  EXPECT_FALSE(dtype_named("BF16"));
}

TEST(Dtype, UnknownNumbersAreErrors) {
  EXPECT_THROW(size_of(static_cast<Dtype>(0)), Error);
  EXPECT_THROW(name_of(static_cast<Dtype>(11)), Error);
}

TEST(Dtype, FloatingTypesArePoisonedWithNan) {
  for (const auto& [dtype, expected] : kAll) {
    const bool integral = dtype == Dtype::i32 || dtype == Dtype::i64 || dtype == Dtype::u8 || dtype == Dtype::boolean;
    EXPECT_EQ(is_floating(dtype), !integral) << expected.first;
  }
}

TEST(Dtype, ValuesAreThoseOfTheCandidateAbi) {
  EXPECT_EQ(static_cast<int>(Dtype::bf16), PKB_BF16);
  EXPECT_EQ(static_cast<int>(Dtype::fp8_e4m3), PKB_FP8_E4M3);
  EXPECT_EQ(static_cast<int>(Dtype::boolean), PKB_BOOL);
  EXPECT_EQ(static_cast<int>(Dtype::complex64), PKB_COMPLEX64);
}

}  // namespace
}  // namespace pkb
