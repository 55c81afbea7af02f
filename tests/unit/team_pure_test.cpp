// SPDX-License-Identifier: Apache-2.0
//
// The parts of the team room that decide without communicating.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "team/environment.h"
#include "team/launch.h"
#include "team/round.h"
#include "team/text.h"

namespace pkb {
namespace {

Contribution request(const std::string& what, const std::string& group, std::vector<int> members) {
  Contribution word;
  word.state = Contribution::State::request;
  word.what = what;
  word.group = group;
  word.members = std::move(members);
  return word;
}

Contribution failure(const std::string& status, bool consequence = false) {
  Contribution word;
  word.state = Contribution::State::failed;
  word.outcome = {status, "why", consequence};
  return word;
}

const std::vector<int> kWorld{0, 1, 2};

TEST(Round, AllDoneIsFinished) {
  EXPECT_EQ(decide({{}, {}, {}}, "pkb_run").kind, Decision::Kind::finished);
}

TEST(Round, EqualRequestsOfAllMembersAreServed) {
  const Decision decision =
      decide({request("a", "world", kWorld), request("a", "world", kWorld), request("a", "world", kWorld)}, "x");
  EXPECT_EQ(decision.kind, Decision::Kind::go_on);
  EXPECT_EQ(decision.served, (std::vector<bool>{true, true, true}));
}

TEST(Round, GroupsAreServedAtTheirOwnPace) {
  const Decision decision =
      decide({request("a", "pair", {1, 0}), request("a", "pair", {1, 0}), request("b", "world", kWorld)}, "x");
  EXPECT_EQ(decision.kind, Decision::Kind::go_on);
  EXPECT_EQ(decision.served, (std::vector<bool>{true, true, false}));
}

TEST(Round, TextsComeInGroupOrder) {
  std::vector<Contribution> ranks{request("a", "pair", {2, 0}), {}, request("a", "pair", {2, 0})};
  ranks[0].text = "zero";
  ranks[2].text = "two";
  EXPECT_EQ(texts_for(ranks[0], ranks), (std::vector<std::string>{"two", "zero"}));
}

TEST(Round, DivergenceNamesRanksAndWhatTheyAskFor) {
  const Decision decision = decide({request("symmetric_alloc of 4096 bytes", "world", kWorld),
                                    {},
                                    request("symmetric_alloc of 4096 bytes", "world", kWorld)},
                                   "pkb_setup");
  EXPECT_EQ(decision.kind, Decision::Kind::diverged);
  ASSERT_EQ(decision.outcomes.size(), 3U);
  EXPECT_EQ(decision.outcomes[1].status, "diverged");
  EXPECT_FALSE(decision.outcomes[1].consequence);
  EXPECT_EQ(decision.outcomes[1].reason,
            "ranks 0, 2 asked for symmetric_alloc of 4096 bytes on world, rank 1 finished pkb_setup");
}

TEST(Round, DifferentSizesAndGroupsDiverge) {
  const Decision sizes = decide({request("symmetric_alloc of 64 bytes", "world", {0, 1}),
                                 request("symmetric_alloc of 128 bytes", "world", {0, 1})},
                                "x");
  EXPECT_EQ(sizes.kind, Decision::Kind::diverged);
  EXPECT_EQ(
      sizes.outcomes.at(0).reason,
      "rank 0 asked for symmetric_alloc of 64 bytes on world, rank 1 asked for symmetric_alloc of 128 bytes on world");
  EXPECT_EQ(decide({request("a", "world", {0, 1}), request("a", "tp", {0, 1})}, "x").kind, Decision::Kind::diverged);
}

TEST(Round, ManyRanksAreNotAllNamed) {
  std::vector<Contribution> ranks(32, request("a", "world", {0, 31}));
  ranks[31] = {};
  EXPECT_EQ(decide(ranks, "pkb_setup").outcomes.at(0).reason,
            "ranks 0, 1, 2 and 28 more asked for a on world, rank 31 finished pkb_setup");
}

TEST(Round, AFailureEndsIt) {
  const Decision decision = decide({request("a", "world", kWorld), failure("crashed"), {}}, "x");
  EXPECT_EQ(decision.kind, Decision::Kind::failed);
  EXPECT_EQ(decision.outcomes.at(0).status, "diverged");
  EXPECT_TRUE(decision.outcomes.at(0).consequence);
  EXPECT_EQ(decision.outcomes[1].status, "crashed");
  EXPECT_TRUE(decision.outcomes[2].ok());
}

TEST(CallOutcome, FindsTheCause) {
  const auto cause_of = [](const std::vector<RankOutcome>& ranks) {
    int rank = -1;
    CallOutcome{ranks, {}, 0}.cause(&rank);
    return rank;
  };
  const RankOutcome passed, crashed{"crashed", "", false}, error{"runtime_error", "", false},
      timeout{"timeout", "", false}, diverged{"diverged", "", false}, consequence{"diverged", "", true};
  EXPECT_EQ(cause_of({consequence, diverged, timeout, error, crashed, passed}), 4);
  EXPECT_EQ(cause_of({consequence, diverged, timeout, error, error, passed}), 3);
  EXPECT_EQ(cause_of({consequence, diverged, timeout, passed}), 2);
  EXPECT_EQ(cause_of({passed, consequence, diverged}), 2);
  EXPECT_EQ(cause_of({passed, consequence}), 1);
  EXPECT_EQ(cause_of({passed, passed}), 0);
  EXPECT_TRUE((CallOutcome{{passed, passed}, {}, 0}.ok()));
  EXPECT_FALSE((CallOutcome{{passed, consequence}, {}, 0}.ok()));
}

Lookup environment(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Launch, ARankAloneByChoiceIsFine) {
  EXPECT_EQ(why_singleton(1, environment({})), "");
  EXPECT_EQ(why_singleton(1, environment({{"OMPI_COMM_WORLD_SIZE", "1"}})), "");
  EXPECT_EQ(why_singleton(4, environment({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}})), "");
  EXPECT_EQ(why_singleton(1, environment({{"OMPI_COMM_WORLD_SIZE", "many"}})), "");
}

TEST(Launch, RanksThatBelieveTheyAreAloneAreRefused) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    EXPECT_NE(why_singleton(1, environment({{variable, "4"}})).find("started 4 (" + std::string(variable)),
              std::string::npos);
  }
  const std::string step =
      why_singleton(1, environment({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_NUM_TASKS", "8"}}));
  EXPECT_NE(step.find("MPI sees 1 rank, but the launcher started 8"), std::string::npos) << step;
  EXPECT_NE(step.find("srun --mpi=pmix"), std::string::npos) << step;
  EXPECT_NE(why_singleton(1, environment({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "2"}})), "");
  EXPECT_NE(why_singleton(1, environment({{"PMIX_RANK", "3"}})), "");
}

TEST(Launch, SlurmOutsideAStepSaysNothing) {
  EXPECT_EQ(why_singleton(1, environment({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}})), "");
  // mpirun in an allocation starts its daemons by a step of one task a node.
  EXPECT_EQ(why_singleton(
                1, environment({{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}})),
            "");
}

TEST(Environment, WorkersSeeNoLauncherAndNoSecret) {
  const char* const variables[] = {"HOME=/root",
                                   "OMPI_COMM_WORLD_RANK=1",
                                   "PMIX_RANK=1",
                                   "PMI_FD=3",
                                   "PRTE_X=1",
                                   "SLURM_JOB_ID=7",
                                   "MPI_HOME=/x",
                                   "HF_TOKEN=abc",
                                   "my_secret=1",
                                   "DB_PASSWORD=x",
                                   "AWS_ACCESS_KEY=",
                                   "GOOGLE_CREDENTIALS=x",
                                   "PKB_SEED=42",
                                   "PKB_LOG=1",
                                   "LD_LIBRARY_PATH=/a=b",
                                   "CUDA_MODULE_LOADING=LAZY",
                                   "SSH_AUTH_SOCK=/s",
                                   "UCX_TLS=all",
                                   "CUDA_VISIBLE_DEVICES=1",
                                   nullptr};
  EXPECT_EQ(worker_environment(variables),
            (std::vector<std::string>{"HOME=/root", "PKB_LOG=1", "LD_LIBRARY_PATH=/a=b", "CUDA_VISIBLE_DEVICES=1",
                                      "CUDA_MODULE_LOADING=EAGER"}));
}

TEST(Text, BecomesSafeToPrintAndStore) {
  EXPECT_EQ(clean_text("plain\tand\nlines", 100), "plain\tand\nlines");
  EXPECT_EQ(clean_text("bell\a esc\x1b[31m del\x7f nul" + std::string(1, '\0'), 100), "bell? esc?[31m del? nul?");
  EXPECT_EQ(clean_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 100), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(clean_text("a\xc3", 100), "a?");
  EXPECT_EQ(clean_text("\xc0\xaf\xed\xa0\x80\xf5\x80\x80\x80", 100), "?????????");
}

TEST(Text, IsCutAtCharacters) {
  EXPECT_EQ(clean_text("ab\xc3\xa9"
                       "cd",
                       3),
            "ab");
  EXPECT_EQ(clean_text("ab\xc3\xa9"
                       "cd",
                       4),
            "ab\xc3\xa9");
  EXPECT_EQ(clean_text("ab\xc3\xa9"
                       "cd",
                       3, true),
            "cd");
  EXPECT_EQ(clean_text("ab\xc3\xa9"
                       "cd",
                       4, true),
            "\xc3\xa9"
            "cd");
}

}  // namespace
}  // namespace pkb
