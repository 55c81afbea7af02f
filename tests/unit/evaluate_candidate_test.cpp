// SPDX-License-Identifier: Apache-2.0
#include "evaluate/candidate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace pkb {
namespace {

namespace fs = std::filesystem;

class Candidates : public testing::Test {
 protected:
  void SetUp() override {
    problem_.id = 1;
    problem_.name = "allreduce";
    problem_.folder = "collective/01_allreduce";
    folder_ = fs::temp_directory_path() / ("pkb-candidates-" + std::to_string(getpid()));
    fs::create_directories(folder_ / "01_allreduce");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void touch(const fs::path& name) { std::ofstream(folder_ / name) << "//"; }
  std::vector<std::string> samples(const fs::path& option, DeviceKind device = DeviceKind::host) {
    std::vector<std::string> names;
    for (const Candidate& one : candidates_for(problem_, option.string(), device, Resources::of_this_program())) {
      names.push_back(one.missing.empty() ? one.sample : "missing: " + one.missing);
    }
    return names;
  }

  Problem problem_;
  fs::path folder_;
};

TEST_F(Candidates, EverySourceAndModuleOfAFolderIsASample) {
  touch("01_allreduce/b.cu");
  touch("01_allreduce/a.cu");
  touch("01_allreduce/c.so");
  touch("01_allreduce/notes.txt");
  EXPECT_EQ(samples(folder_), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(samples(folder_ / "01_allreduce"), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Candidates, ModulesForTheOtherDeviceArePassedOver) {
  touch("01_allreduce/a.host.so");
  touch("01_allreduce/b.cuda.so");
  EXPECT_EQ(samples(folder_), (std::vector<std::string>{"a"}));
  EXPECT_EQ(samples(folder_, DeviceKind::cuda), (std::vector<std::string>{"b"}));
}

TEST_F(Candidates, NothingForThisProblemIsSaid) {
  problem_.folder = "collective/01_nothing";
  EXPECT_EQ(samples("shipped").front(), "missing: no candidate is shipped for this problem");
  problem_.folder = "collective/01_allreduce";
  EXPECT_EQ(samples(folder_).front().rfind("missing: no .cu or .so in", 0), 0U);
  EXPECT_TRUE(candidates_for(problem_, "none", DeviceKind::host, Resources::of_this_program()).front().none());
}

TEST_F(Candidates, AFileGoesWithOneProblemOnly) {
  touch("one.cu");
  const std::string file = (folder_ / "one.cu").string();
  EXPECT_NO_THROW(check_candidate_option(file, {&problem_}));
  EXPECT_THROW(check_candidate_option(file, {&problem_, &problem_}), UsageError);
  EXPECT_THROW(check_candidate_option((folder_ / "two.cu").string(), {&problem_}), UsageError);
  touch("one.txt");
  EXPECT_THROW(check_candidate_option((folder_ / "one.txt").string(), {&problem_}), UsageError);
}

}  // namespace
}  // namespace pkb
