// SPDX-License-Identifier: Apache-2.0
#include "results/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "results_fixture.h"

namespace pkb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ListingTest : public ::testing::Test {
 protected:
  std::string list(const Options& options) const {
    std::ostringstream out;
    show_list(out, catalogue_, options);
    return out.str();
  }
  std::string error_of(const Options& options) const {
    try {
      list(options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  const Catalogue catalogue_ = Catalogue::load(test::repository() / "problems.yaml");
};

TEST_F(ListingTest, HasALineAProblemBelowAHeader) {
  Options options;
  options.selection.problems = {"1", "13"};
  std::istringstream lines(list(options));
  std::string header, first, second, more;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_TRUE(header.starts_with("# id  name"));
  EXPECT_TRUE(first.starts_with("   1  allreduce"));
  EXPECT_TRUE(second.starts_with("  13  gemm_allreduce"));
  EXPECT_EQ(first.find("collective"), header.find("suites"));
  EXPECT_EQ(second.find("tp"), header.find("suites"));
  EXPECT_FALSE(std::getline(lines, more));
}

TEST_F(ListingTest, VerboseShowsCostsForWorldAndProfile) {
  Options options;
  options.selection.problems = {"13"};
  options.verbose = true;
  options.world = 2;
  options.profile = "H200";
  const std::string text = list(options);
  EXPECT_THAT(text, HasSubstr("M=1024 N=1024 K=512"));
  EXPECT_THAT(text, HasSubstr("link 2.097 MB"));  // 2 * (W - 1) / W * M * N * 2 bytes
  EXPECT_THAT(text, HasSubstr("H200 "));
  EXPECT_THAT(text, Not(HasSubstr("H100")));
  EXPECT_THAT(text, HasSubstr("cases: default"));
  EXPECT_THAT(text, HasSubstr("# bound at size default, W = 2, H200: of 1 problems 1 by link (100 %)"));
  options.world = 4;
  EXPECT_THAT(list(options), HasSubstr("link 3.146 MB"));
  options.overrides = {{"M", 2048}};
  EXPECT_THAT(list(options), HasSubstr("M=2048 N=1024 K=512"));
}

TEST_F(ListingTest, AWorldThatIsNotLegalIsExplained) {
  Options options;
  options.selection.problems = {"13"};
  options.verbose = true;
  options.world = 1;
  EXPECT_THAT(list(options), HasSubstr("not with W = 1: "));
}

TEST_F(ListingTest, UnknownNamesGetTheNearest) {
  Options options;
  options.profile = "H20";
  EXPECT_EQ(error_of(options), "unknown hardware profile 'H20'; did you mean H200?");
  options.profile = "unlike anything";
  EXPECT_THAT(error_of(options), HasSubstr("there are B200, H100, H200"));
  options.profile.clear();
  options.overrides = {{"tokns", 3}};
  EXPECT_EQ(error_of(options), "no selected problem has a parameter tokns; did you mean tokens?");
}

TEST_F(ListingTest, ShowTellsAllOfAProblem) {
  Options options;
  std::ostringstream out;
  const auto listing = listing_options(catalogue_, options);
  for (const Problem& problem : catalogue_.problems()) {
    out.str("");
    show_problem(out, problem, listing);
    for (const TensorSpec& output : problem.outputs) EXPECT_THAT(out.str(), HasSubstr("  " + output.name + " "));
    for (const auto& item : problem.cases) EXPECT_THAT(out.str(), HasSubstr("  " + item.name));
    EXPECT_THAT(out.str(), HasSubstr("kernels/" + problem.folder));
  }
}

}  // namespace
}  // namespace pkb
