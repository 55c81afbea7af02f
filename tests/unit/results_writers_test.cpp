// SPDX-License-Identifier: Apache-2.0
#include "results/writers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "results/files.h"
#include "results_fixture.h"

namespace pkb {
namespace {

using test::contents;
using test::mismatch_row;
using test::passed_row;

/// A reader as RFC 4180 has it, written independently of the writer.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      lines.push_back(std::exchange(fields, std::vector<std::string>(1)));
    } else {
      fields.back() += c;
    }
  }
  EXPECT_FALSE(quoted);
  return lines;
}

std::map<std::string, std::string> csv_row(const Row& row) {
  const auto lines = read_csv(to_csv({row}));
  std::map<std::string, std::string> fields;
  if (lines.size() != 2 || lines[0].size() != lines[1].size()) {
    ADD_FAILURE() << "not a header and a row of the same length";
    return fields;
  }
  for (std::size_t i = 0; i < lines[0].size(); ++i) fields[lines[0][i]] = lines[1][i];
  return fields;
}

JournalContents journal_of(std::vector<Row> rows) {
  JournalContents journal;
  journal.runs = {to_record(test::run_record())};
  journal.rows = std::move(rows);
  return journal;
}

TEST(Csv, FieldsAreQuotedWhenTheyNeedIt) {
  EXPECT_EQ(csv_field("plain text; with 'marks'"), "plain text; with 'marks'");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("carriage\rreturn"), "\"carriage\rreturn\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
  EXPECT_EQ(csv_field("a "), "\"a \"");
}

TEST(Csv, AnyTextComesBackFromAReader) {
  Row row = mismatch_row();
  row.reason = "commas, \"quotes\",\r\nnew lines\n, and \"\"";
  row.candidate = "\"";
  const auto fields = csv_row(row);
  ASSERT_FALSE(fields.empty());
  EXPECT_EQ(fields.at("reason"), row.reason);
  EXPECT_EQ(fields.at("candidate"), row.candidate);
}

TEST(Csv, NumbersReadBackTheSameAndMissingIsEmpty) {
  Row row = passed_row();
  row.speedup = 0.1 + 0.2;
  row.flops = 1.0e22;
  row.roofline_us = 1.0 / 3;
  const auto fields = csv_row(row);
  EXPECT_EQ(std::stod(fields.at("speedup")), row.speedup);
  EXPECT_EQ(std::stod(fields.at("roofline_us")), row.roofline_us);
  EXPECT_EQ(fields.at("flops"), "1e+22");
  EXPECT_EQ(fields.at("candidate_mean_us"), "24.5");
  EXPECT_EQ(fields.at("seed"), "18446744073709551615");
  EXPECT_EQ(fields.at("suites"), "tp collective");
  EXPECT_EQ(fields.at("failing_rank"), "");
  EXPECT_EQ(fields.at("throttle"), "");
  EXPECT_EQ(csv_row(mismatch_row()).at("speedup"), "");
  EXPECT_EQ(fields.count("log_tail"), 0u);
}

TEST(Csv, AnEmptyRunHasAHeader) {
  EXPECT_EQ(read_csv(to_csv({})).size(), 1u);
}

/// Everything reachable below a value.
void visit(const nlohmann::json& value, const std::function<void(const nlohmann::json&)>& visitor) {
  visitor(value);
  if (value.is_structured()) {
    for (const auto& child : value) visit(child, visitor);
  }
}

TEST(Json, NumbersAreNumbersAndMissingIsNull) {
  const std::string text = to_json(journal_of({passed_row(), mismatch_row()}));
  const auto json = nlohmann::json::parse(text);  // which refuses NaN
  visit(json, [](const auto& value) {
    EXPECT_FALSE(value.is_string() && value.template get_ref<const std::string&>().empty());
  });
  const auto& row = json.at("results").at(0);
  EXPECT_TRUE(row.at("speedup").is_number());
  EXPECT_TRUE(row.at("world_size").is_number_integer());
  EXPECT_EQ(row.at("seed").get<uint64_t>(), 18446744073709551615u);
  EXPECT_EQ(row.at("reference_call_us").at(1).at(1).get<double>(), 1.0 / 3);
  EXPECT_EQ(row.at("suites"), nlohmann::json({"tp", "collective"}));
  EXPECT_TRUE(json.at("results").at(1).at("speedup").is_null());
  EXPECT_TRUE(json.at("results").at(1).at("mismatch_got").is_null());
}

TEST(Json, HoldsTheRunAndTheRunsBefore) {
  JournalContents journal = journal_of({passed_row()});
  RunRecord second = test::run_record();
  second.started_utc = "2026-02-02T00:00:00Z";
  journal.runs.push_back(to_record(second));
  const auto json = nlohmann::json::parse(to_json(journal));
  EXPECT_EQ(json.at("schema_version"), kSchemaVersion);
  EXPECT_EQ(json.at("meta").at("started_utc"), second.started_utc);
  EXPECT_EQ(json.at("devices").size(), 2u);
  EXPECT_EQ(json.at("config").at("trials"), 5);
  ASSERT_EQ(json.at("earlier_runs").size(), 1u);
  EXPECT_EQ(json.at("earlier_runs").at(0).at("meta").at("started_utc"), test::run_record().started_utc);
}

TEST(Json, AnEmptyJournalIsValid) {
  const auto json = nlohmann::json::parse(to_json({}));
  EXPECT_TRUE(json.at("results").is_array());
  EXPECT_TRUE(json.at("meta").is_object());
}

TEST(Golden, CsvAndJson) {
  const std::vector<Row> rows = {passed_row(), test::uncaptured_row(), test::skipped_row(), mismatch_row()};
  test::expect_golden("results.csv", to_csv(rows));
  // What the build puts into meta differs from build to build.
  JournalContents journal = journal_of(rows);
  for (const char* name : {"pkb_version", "git_commit", "git_dirty", "compiler", "build_type"}) {
    journal.runs.back().at("meta")[name] = std::string("<") + name + ">";
  }
  test::expect_golden("results.json", to_json(journal));
}

TEST(Files, AreReplacedWholeAndLeaveNothingBehind) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "a.txt";
  replace_file(file, "first");
  replace_file(file, "second");
  EXPECT_EQ(contents(file), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, AFailureLeavesTheOldFileAndNoTemporary) {
  const test::TemporaryFolder folder;
  const auto target = folder.path() / "taken";
  std::filesystem::create_directories(target / "full");  // a folder with contents cannot be renamed over
  EXPECT_THROW(replace_file(target, "text"), SystemError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_THROW(replace_file(folder.path() / "no/such/file", "text"), SystemError);
}

TEST(Results, AreDerivedFromTheJournal) {
  const test::TemporaryFolder folder;
  {
    Journal journal = Journal::create(folder.path());
    journal.begin(to_record(test::run_record()));
    journal.append(passed_row());
    journal.append(mismatch_row());
  }
  write_results(folder.path());
  EXPECT_EQ(contents(folder.path() / "results.csv"), to_csv(read_journal(folder.path()).rows));
  const std::string json = contents(folder.path() / "results.json");
  EXPECT_EQ(nlohmann::json::parse(json).at("results").size(), 2u);
  std::filesystem::remove(folder.path() / "results.json");
  write_results(folder.path());
  EXPECT_EQ(contents(folder.path() / "results.json"), json);
}

}  // namespace
}  // namespace pkb
