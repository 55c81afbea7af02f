// SPDX-License-Identifier: Apache-2.0
//
// Tests of the team room run under mpirun on three ranks: all ranks run the same tests in the same order, rank 0
// prints, the others print what fails, and every rank exits with failure when any rank failed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "team/team.h"

namespace {

class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s: %s:%d\n%s\n", rank_, name_.c_str(),
                 result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
  }
  std::string name_;
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr unsigned kLimitSeconds = 240;  // a rank that failed alone leaves the others waiting
  ::alarm(kLimitSeconds);
  testing::InitGoogleTest(&argc, argv);
  pkb::make_undumpable();
  pkb::MpiSession session(argc, argv);
  pkb::Team team(MPI_COMM_WORLD);
  if (!team.is_root()) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(team.rank()));
  }
  const bool passed = team.all(RUN_ALL_TESTS() == 0);
  return passed ? 0 : 1;
}
