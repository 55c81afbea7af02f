// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "evaluate/timing.h"

namespace pkb {
namespace {

TEST(Summarise, TakesTheSlowestRankCallByCall) {
  SideTimes times;
  times.call_us = {{1, 5, 3, 2}, {4, 1, 1, 2}};
  summarise(times);
  // The maxima are 4 5 3 2.
  EXPECT_DOUBLE_EQ(times.min_us, 2);
  EXPECT_DOUBLE_EQ(times.median_us, 3.5);
  EXPECT_DOUBLE_EQ(times.p95_us, 5);
  EXPECT_DOUBLE_EQ(times.stdev_us, std::sqrt((0.25 + 2.25 + 0.25 + 2.25) / 3));
}

TEST(Summarise, OddCountAndOneCall) {
  SideTimes three;
  three.call_us = {{9, 1, 4}};
  summarise(three);
  EXPECT_DOUBLE_EQ(three.median_us, 4);
  SideTimes one;
  one.call_us = {{7}};
  summarise(one);
  EXPECT_DOUBLE_EQ(one.median_us, 7);
  EXPECT_DOUBLE_EQ(one.stdev_us, 0);
}

TEST(Summarise, LeavesNothingWhereNothingWasTimed) {
  SideTimes none;
  none.call_us = {{}, {}};
  summarise(none);
  EXPECT_TRUE(std::isnan(none.median_us));
}

TEST(Summarise, P95IsTheSmallestValueThatCoversNineteenOfTwenty) {
  SideTimes times;
  times.call_us.emplace_back();
  for (int i = 1; i <= 100; ++i) times.call_us[0].push_back(i);
  summarise(times);
  EXPECT_DOUBLE_EQ(times.p95_us, 95);
}

}  // namespace
}  // namespace pkb
