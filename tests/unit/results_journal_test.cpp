// SPDX-License-Identifier: Apache-2.0
#include "results/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "results_fixture.h"

namespace pkb {
namespace {

using test::contents;
using test::mismatch_row;
using test::passed_row;
using test::store;
using ::testing::HasSubstr;

std::string usage_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

class JournalTest : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return temporary_.path() / "run/results"; }
  std::filesystem::path rows_file() const { return folder() / "results.jsonl"; }

  void write_two_rows() {
    Journal journal = Journal::create(folder());
    journal.begin(to_record(test::run_record()));
    journal.append(passed_row());
    journal.append(mismatch_row());
  }

 private:
  test::TemporaryFolder temporary_;
};

TEST_F(JournalTest, RowsComeBackWhole) {
  write_two_rows();
  const JournalContents journal = read_journal(folder());
  ASSERT_EQ(journal.rows.size(), 2u);
  EXPECT_FALSE(journal.torn);
  EXPECT_EQ(to_record(journal.rows[0]), to_record(passed_row()));
  EXPECT_EQ(journal.rows[0].reference.call_us[1][1], 1.0 / 3);
  EXPECT_EQ(journal.rows[1].reason, mismatch_row().reason);
  EXPECT_EQ(journal.rows[1].log_tail, "line 1\nline \xEF\xBF\xBD 2");  // the byte that was no UTF-8
  ASSERT_EQ(journal.runs.size(), 1u);
  EXPECT_EQ(journal.runs[0], to_record(test::run_record()));
}

TEST_F(JournalTest, ARowIsALineAtOnce) {
  Journal journal = Journal::create(folder());
  journal.append(passed_row());
  const std::string first = contents(rows_file());
  EXPECT_EQ(std::ranges::count(first, '\n'), 1);
  EXPECT_TRUE(first.ends_with("}\n"));
  journal.append(mismatch_row());
  EXPECT_TRUE(contents(rows_file()).starts_with(first));
}

TEST_F(JournalTest, ATornLastLineIsLeftOut) {
  write_two_rows();
  const std::string whole = contents(rows_file());
  const auto second = whole.find('\n') + 1;
  for (const std::size_t cut : {second + 1, whole.size() - 10, whole.size() - 1}) {
    store(rows_file(), whole.substr(0, cut));
    const JournalContents journal = read_journal(folder());
    EXPECT_EQ(journal.rows.size(), 1u) << cut;
    EXPECT_TRUE(journal.torn) << cut;
  }
}

TEST_F(JournalTest, ResumingCutsATornLineAndGoesOn) {
  write_two_rows();
  const std::string whole = contents(rows_file());
  store(rows_file(), whole.substr(0, whole.size() - 10));
  {
    Journal journal = Journal::resume(folder());
    EXPECT_TRUE(journal.holds(key_of(passed_row())));
    EXPECT_FALSE(journal.holds(key_of(mismatch_row())));
    EXPECT_EQ(journal.earlier().size(), 1u);
    journal.begin(to_record(test::run_record()));
    journal.append(mismatch_row());
  }
  EXPECT_EQ(contents(rows_file()), whole);
  EXPECT_EQ(read_journal(folder()).runs.size(), 2u);
}

TEST_F(JournalTest, ALineThatIsNoRowIsRefusedByNumber) {
  write_two_rows();
  const std::string whole = contents(rows_file());
  store(rows_file(), whole + "{\"problem_id\": \n" + whole);
  EXPECT_THAT(usage_error_of([&] { read_journal(folder()); }), HasSubstr("results.jsonl:3: not JSON"));
  store(rows_file(), whole + "{\"problem_id\": \"x\"}\n");
  EXPECT_THAT(usage_error_of([&] { read_journal(folder()); }), HasSubstr("results.jsonl: row 3: problem_id: "));
}

TEST_F(JournalTest, TheNewestRowOfAKeyStandsAtTheFirstOnesPlace) {
  {
    Journal journal = Journal::create(folder());
    Row failed = passed_row();
    failed.status = "harness_error";
    journal.append(failed);
    journal.append(mismatch_row());
  }
  {
    Journal journal = Journal::resume(folder());
    EXPECT_FALSE(journal.holds(key_of(passed_row())));  // a harness error says nothing about the candidate
    EXPECT_TRUE(journal.holds(key_of(mismatch_row())));
    journal.append(passed_row());
  }
  const auto rows = read_journal(folder()).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].status, "passed");
  EXPECT_EQ(rows[1].status, "mismatch");
}

TEST(RowKey, TellsEvaluationsApart) {
  const Row row = passed_row();
  const std::vector<std::function<void(Row&)>> differences = {
      [](Row& r) { r.problem_id = 12; }, [](Row& r) { r.candidate_sha256 = "0"; }, [](Row& r) { r.sample = "b"; },
      [](Row& r) { r.size = "large"; },  [](Row& r) { r.params = "M=1"; },         [](Row& r) { r.world = 4; },
      [](Row& r) { r.device = "host"; }, [](Row& r) { r.io = "symmetric"; },       [](Row& r) { r.timing = "graph"; }};
  for (const auto& change : differences) {
    Row other = row;
    change(other);
    EXPECT_NE(key_of(other), key_of(row)) << &change - differences.data();
  }
  Row same = row;
  same.status = "mismatch";
  same.speedup = 1;
  EXPECT_EQ(key_of(same), key_of(row));
}

TEST_F(JournalTest, AFolderWithResultsIsNotWrittenTo) {
  write_two_rows();
  const std::string before = contents(rows_file());
  EXPECT_THAT(usage_error_of([&] { Journal::create(folder()); }), HasSubstr("already holds results"));
  EXPECT_EQ(contents(rows_file()), before);
}

TEST_F(JournalTest, AnExistingFolderWithoutResultsIsUsed) {
  std::filesystem::create_directories(folder());
  store(folder() / "notes.txt", "mine");
  EXPECT_EQ(usage_error_of([&] { Journal::create(folder()); }), "no error");
}

TEST_F(JournalTest, ThereMustBeSomethingToResume) {
  EXPECT_THAT(usage_error_of([&] { Journal::resume(folder()); }), HasSubstr("holds no results to resume"));
  EXPECT_THAT(usage_error_of([&] { read_journal(folder()); }), HasSubstr("holds no results"));
}

TEST_F(JournalTest, TwoJobsDoNotWriteToOneFolder) {
  const Journal journal = Journal::create(folder());
  EXPECT_THAT(usage_error_of([&] { Journal::resume(folder()); }), HasSubstr("another job is writing"));
}

TEST_F(JournalTest, AFolderThatCannotBeMadeIsAUsageError) {
  std::filesystem::create_directories(folder().parent_path());
  store(folder(), "a file");
  EXPECT_THAT(usage_error_of([&] { Journal::create(folder()); }), HasSubstr("cannot"));
}

}  // namespace
}  // namespace pkb
