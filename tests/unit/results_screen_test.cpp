// SPDX-License-Identifier: Apache-2.0
#include "results/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "results_fixture.h"

namespace pkb {
namespace {

using test::passed_row;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

struct Output {
  std::ostringstream out, err;
  Screen screen;
  explicit Output(Screen::Settings settings) : screen(out, err, settings) {}
};

std::string shown(const std::vector<Row>& rows, Screen::Settings settings = {}) {
  Output output(settings);
  output.screen.begin(rows.size(), 16);
  for (const Row& row : rows) output.screen.show(row);
  output.screen.finish("out");
  return output.out.str();
}

TEST(Screen, Golden) {
  Output output({});
  output.screen.show_devices(test::run_record().devices);
  output.screen.note("device cuda, size default, 2 ranks");
  output.screen.begin(4, label_of("gemm_allreduce", "candidate").size());
  for (const Row& row : {passed_row(), test::uncaptured_row(), test::skipped_row(), test::mismatch_row()}) {
    output.screen.progress("this goes to a terminal only");
    output.screen.show(row);
  }
  output.screen.finish("pkb-results-20260131T235950Z");
  test::expect_golden("screen.txt", output.out.str());
  EXPECT_EQ(output.err.str(), "");
}

TEST(Screen, ColumnsStandBelowTheirNames) {
  Row wide = passed_row();
  wide.problem = "a_name_that_is_longer_than_anything_that_was_announced";
  wide.size = "a_long_preset";
  wide.reference.mean_us = 123456789012.0;
  wide.candidate_times.mean_us = 1e-3;
  wide.speedup = 98765432;
  const auto lines = lines_of(shown({passed_row(), test::mismatch_row(), wide}));
  const auto status = lines[0].find("status"), reference_end = lines[0].find("reference") + 9;
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(lines[i][status - 1], ' ') << lines[i];
    EXPECT_NE(lines[i][status], ' ') << lines[i];
    EXPECT_NE(lines[i][reference_end - 1], ' ') << lines[i];
    EXPECT_EQ(lines[i][reference_end], ' ') << lines[i];
    EXPECT_GE(words_of(lines[i]).size(), 10u) << lines[i];
  }
}

TEST(Screen, AScriptFindsTheValuesByPosition) {
  const auto lines = lines_of(shown({passed_row()}));
  EXPECT_THAT(words_of(lines[2]), ::testing::ElementsAre("13", "gemm_allreduce", "default", "2", "stream", "passed",
                                                         "61.25", "24.50", "2.50", "40.00"));
  EXPECT_EQ(words_of(lines[0]).size(), 12u);  // "#", the ten above, reason
  for (const std::string& line : lines) EXPECT_FALSE(line.ends_with(' ')) << line;
}

TEST(Screen, SamplesAreNamedWhenTheyAreNotTheOnlyOne) {
  EXPECT_EQ(label_of("allreduce", "candidate"), "allreduce");
  EXPECT_EQ(label_of("allreduce", ""), "allreduce");
  EXPECT_EQ(label_of("allreduce", "ring"), "allreduce/ring");
}

TEST(Screen, ReasonsAreCutToTheLineAndKeepItOne) {
  Row row = test::mismatch_row();
  row.reason = std::string(300, 'x') + "\n" + std::string(300, 'y');
  const auto lines = lines_of(shown({row}, {.width = 150}));
  EXPECT_EQ(lines[2].size(), 150u);
  EXPECT_TRUE(lines[2].ends_with("xxx..."));
  EXPECT_EQ(lines_of(shown({row}, {.width = 20})).size(), lines.size());
}

TEST(Screen, WhyThereIsNoTimeIsSaid) {
  EXPECT_THAT(shown({test::uncaptured_row()}), HasSubstr("reference: cannot be captured: reads a size on the host"));
  EXPECT_THAT(shown({test::skipped_row()}), HasSubstr("skipped"));
  EXPECT_THAT(shown({test::skipped_row()}), HasSubstr("needs N divisible by W; N = 64, W = 3"));
}

TEST(Screen, MeansAreGeometricByModeAndOfPassedRowsOnly) {
  Row twice = passed_row(), eight = passed_row(), wrong = passed_row(), graph = passed_row();
  twice.speedup = 2;
  eight.speedup = 8;
  wrong.speedup = 1000;
  wrong.status = "implausible";
  graph.timing = "graph";
  graph.speedup = 1.5;
  const std::string text = shown({twice, wrong, eight, graph});
  EXPECT_THAT(text, HasSubstr("# speed-up, geometric mean: 4.00x stream (over 2), 1.50x graph (over 1)\n"));
  EXPECT_THAT(text, HasSubstr("# 4 rows: 3 passed, 1 implausible\n"));
  EXPECT_THAT(text, HasSubstr("# files: out/results.{csv,json,jsonl}\n"));
  EXPECT_THAT(shown({test::skipped_row()}), Not(HasSubstr("geometric")));
  EXPECT_THAT(shown({test::skipped_row()}), HasSubstr("# 1 row: 0 passed, 1 skipped\n"));
}

TEST(Screen, ProgressIsTakenAwayBeforeRows) {
  Output output({.width = 100, .progress_width = 40});
  output.screen.begin(2, 10);
  output.screen.progress("gemm_allreduce default with a very long description that must not wrap");
  const std::string line = output.err.str();
  EXPECT_TRUE(line.starts_with("\r\033[K[0/2] ")) << line;
  EXPECT_LE(line.size(), 40u + 4);
  output.screen.show(passed_row());
  EXPECT_EQ(output.err.str(), line + "\r\033[K");
  output.screen.show(passed_row());
  EXPECT_EQ(output.err.str(), line + "\r\033[K");
}

TEST(Progress, TellsCountTimeAndRest) {
  EXPECT_EQ(progress_text(0, 15, 3.2, "allreduce smoke"), "[0/15] 3 s: allreduce smoke");
  EXPECT_EQ(progress_text(3, 15, 12, "gemm"), "[3/15] 12 s, about 48 s left: gemm");
  EXPECT_EQ(progress_text(1, 87, 60, ""), "[1/87] 60 s, about 86 min left");
  EXPECT_EQ(progress_text(15, 15, 60, ""), "[15/15] 60 s");
}

TEST(OneLine, KeepsTextWhole) {
  EXPECT_EQ(one_line("a\tb\r\n  c\x1b[31m", 40), "a b c [31m");
  EXPECT_EQ(one_line("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(one_line("abcdefghijk", 10), "abcdefg...");
  EXPECT_EQ(one_line("abcdef\xC3\xA9jkl", 10), "abcdef...");  // the two bytes of one letter stay together
  EXPECT_EQ(one_line("abc", 2), "..");
  EXPECT_EQ(one_line("abc", 0), "");
}

}  // namespace
}  // namespace pkb
