// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "core/error.h"

namespace pkb {
namespace {

std::string logged(log::Level lowest, std::string_view prefix) {
  testing::internal::CaptureStderr();
  log::initialise(lowest, prefix);
  log::debug("one");
  log::info("two {}");
  log::warning("three");
  log::error("four %v");
  return testing::internal::GetCapturedStderr();
}

TEST(Log, DropsWhatIsBelowTheLowestLevel) {
  EXPECT_EQ(logged(log::Level::warning, ""), "pkb: warning: three\npkb: error: four %v\n");
  EXPECT_EQ(logged(log::Level::error, ""), "pkb: error: four %v\n");
}

TEST(Log, MarksLinesWithThePrefixAsItIs) {
  EXPECT_EQ(logged(log::Level::debug, "rank 2, 50%"),
            "pkb: rank 2, 50%: debug: one\npkb: rank 2, 50%: two {}\npkb: rank 2, 50%: warning: three\n"
            "pkb: rank 2, 50%: error: four %v\n");
}

TEST(Error, SystemErrorsEndWithTheSystemsWords) {
  EXPECT_STREQ(SystemError("cannot open x", ENOENT).what(), "cannot open x: No such file or directory");
}

}  // namespace
}  // namespace pkb
