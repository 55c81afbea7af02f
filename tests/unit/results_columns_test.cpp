// SPDX-License-Identifier: Apache-2.0
#include "results/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

#include "core/error.h"
#include "results_fixture.h"

namespace pkb {
namespace {

using test::mismatch_row;
using test::passed_row;

std::string suffix_of(Hint hint) {
  switch (hint) {
    case Hint::microseconds:
    case Hint::samples:
      return "_us";
    case Hint::seconds:
      return "_s";
    case Hint::bytes:
      return "_bytes";
    case Hint::gbps:
      return "_gbps";
    case Hint::megahertz:
      return "_mhz";
    case Hint::percent:
      return "_percent";
    default:
      return "";
  }
}

TEST(Columns, AreSnakeCaseUniqueAndCarryTheirUnit) {
  std::set<std::string> names;
  for (const Column& column : columns()) {
    EXPECT_TRUE(std::regex_match(column.name, std::regex("[a-z][a-z0-9]*(_[a-z0-9]+)*"))) << column.name;
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_TRUE(column.name.ends_with(suffix_of(column.hint))) << column.name;
    EXPECT_TRUE(column.description.ends_with('.')) << column.name;
  }
  EXPECT_EQ(columns().front().name, "schema_version");
}

TEST(Columns, TheHeaderIsOnlyEverAppendedTo) {
  // The header of schema version 1. Lines may be added at the end; nothing here may change.
  std::string header;
  for (const Column& column : columns()) {
    if (column.in_csv) header += column.name + "\n";
  }
  const auto file = test::repository() / "tests/golden/header.txt";
  if (!std::filesystem::exists(file)) test::store(file, header);
  const std::string golden = test::contents(file);
  EXPECT_FALSE(golden.empty());
  EXPECT_TRUE(header.starts_with(golden));
}

TEST(Columns, ARowSurvivesItsRecord) {
  for (const Row& row : {passed_row(), mismatch_row(), test::skipped_row(), test::uncaptured_row()}) {
    const OrderedJson record = to_record(row);
    EXPECT_EQ(to_record(from_record(record)), record);
    EXPECT_EQ(from_record(record).mismatch.index, row.mismatch.index);
    EXPECT_EQ(from_record(record).suites, row.suites);
    EXPECT_EQ(from_record(record).seed, row.seed);
  }
}

TEST(Columns, EveryMemberOfARowIsRecorded) {
  // A changed member must change the record; this fails for a column that reads the wrong one.
  const OrderedJson plain = to_record(Row{});
  const OrderedJson full = [] {
    Row row = passed_row();
    row.mismatch = mismatch_row().mismatch;
    row.mismatch.got = 2;
    row.reason = row.throttle = row.shared_inputs = row.log_tail = "text";
    row.status = "mismatch";
    row.mechanisms = {"sm", "tma"};
    row.failing_rank = row.repeat = 1;
    row.algbw_gbps = row.busbw_gbps = 3;
    row.reference.null_reason = row.candidate_times.null_reason = "why";
    return to_record(row);
  }();
  for (const Column& column : columns()) {
    if (column.name == "schema_version") continue;
    EXPECT_NE(plain.at(column.name), full.at(column.name)) << column.name;
  }
}

TEST(Columns, NoValueIsNull) {
  const OrderedJson record = to_record(mismatch_row());
  for (const char* name :
       {"timing", "speedup", "mismatch_got", "reference_mean_us", "reference_call_us", "peak_memory_bytes"}) {
    EXPECT_TRUE(record.at(name).is_null()) << name;
  }
  EXPECT_EQ(record.at("mismatch_trial"), 2);
  EXPECT_TRUE(to_record(passed_row()).at("mismatch_trial").is_null());
  EXPECT_EQ(to_record(passed_row()).at("warmup"), 500);
  EXPECT_TRUE(to_record(passed_row()).at("candidate_call_us").at(1).at(1).is_null());

  const Row back = from_record(record);
  EXPECT_TRUE(std::isnan(back.speedup));
  EXPECT_EQ(back.failing_rank, 1);
  EXPECT_EQ(from_record(to_record(passed_row())).mismatch.trial, -1);
}

TEST(Columns, InfinityIsNull) {
  Row row = passed_row();
  row.speedup = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(to_record(row).at("speedup").is_null());
}

TEST(Columns, RecordsOfOtherVersionsAreReadAsFarAsPossible) {
  OrderedJson record = to_record(passed_row());
  record["a_column_of_later"] = 7;
  record.erase("speedup");
  const Row row = from_record(record);
  EXPECT_EQ(row.problem, "gemm_allreduce");
  EXPECT_TRUE(std::isnan(row.speedup));
}

std::string error_of(const OrderedJson& record) {
  try {
    from_record(record);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Columns, WrongRecordsAreRefusedByName) {
  OrderedJson record = to_record(passed_row());
  record["world_size"] = "two";
  EXPECT_THAT(error_of(record), ::testing::StartsWith("world_size: "));
  EXPECT_EQ(error_of(OrderedJson::array()), "is not a JSON object");
  record = to_record(passed_row());
  record["schema_version"] = kSchemaVersion + 1;
  EXPECT_THAT(error_of(record), ::testing::HasSubstr("use a newer pkb"));
}

TEST(Columns, TheDocumentationHoldsTheTable) {
  const auto file = test::repository() / "docs/results.md";
  const std::string begin = "<!-- columns: made by `results_columns_test` from runner/results/columns.cpp -->\n",
                    end = "<!-- end of columns -->";
  std::string text = test::contents(file);
  const auto first = text.find(begin), last = text.find(end);
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(last, std::string::npos);
  const auto start = first + begin.size();
  if (test::updating()) test::store(file, text.replace(start, last - start, columns_markdown()));
  const std::string updated = test::contents(file);
  EXPECT_EQ(updated.substr(start, updated.find(end) - start), columns_markdown()) << "PKB_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace
}  // namespace pkb
