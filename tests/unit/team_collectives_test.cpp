// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "team/team.h"

namespace pkb {
namespace {

using std::chrono::milliseconds;

class TeamTest : public testing::Test {
 protected:
  Team team_{MPI_COMM_WORLD};
};

TEST_F(TeamTest, GathersTextsOfAnyLength) {
  for (const std::size_t length : {0UL, 1UL, 1000UL, 3000000UL}) {
    // Rank 1 has nothing to say; large ones go through MPI's shared memory, which must work between undumpable ranks.
    const std::string mine(team_.rank() == 1 ? 0 : length, static_cast<char>('a' + team_.rank()));
    const std::vector<std::string> all = team_.all_gather(mine);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(team_.size()));
    for (int rank = 0; rank < team_.size(); ++rank) {
      EXPECT_EQ(all[static_cast<std::size_t>(rank)],
                std::string(rank == 1 ? 0 : length, static_cast<char>('a' + rank)));
    }
  }
}

TEST_F(TeamTest, GathersNumbersOfDifferentCounts) {
  const std::vector<double> mine(static_cast<std::size_t>(team_.rank()), team_.rank() + 0.5);
  const auto all = team_.all_gather(std::span<const double>(mine));
  for (int rank = 0; rank < team_.size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)], std::vector<double>(static_cast<std::size_t>(rank), rank + 0.5));
  }
}

TEST_F(TeamTest, BroadcastsFromTheRoot) {
  const std::string text(100000, 'x');
  EXPECT_EQ(team_.broadcast(team_.is_root() ? text : "ignored"), text);
  EXPECT_EQ(team_.broadcast(""), "");
}

TEST_F(TeamTest, AgreesOnTruthAndMaximum) {
  EXPECT_TRUE(team_.all(true));
  EXPECT_FALSE(team_.all(team_.rank() != 1));
  EXPECT_EQ(team_.maximum(-1.0 - team_.rank()), -1.0);
  EXPECT_TRUE(std::isnan(team_.maximum(team_.rank() == team_.size() - 1 ? std::nan("") : 1.0)));
}

TEST_F(TeamTest, WaitsInBarriersWithoutACore) {
  const auto cpu_before = std::clock();
  if (team_.is_root()) std::this_thread::sleep_for(milliseconds(500));
  team_.barrier();
  const double cpu_seconds = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  EXPECT_LT(cpu_seconds, 0.25);
}

TEST_F(TeamTest, RefusesMoreThanMpiCanCount) {
  // Sizes are exchanged before any data; the text is never touched.
  const std::string_view huge(reinterpret_cast<const char*>(this), 1ULL << 30);
  EXPECT_THROW(team_.all_gather(huge), Error);
  EXPECT_TRUE(team_.all(true)) << "the team goes on";
}

TEST_F(TeamTest, KnowsItsPlaces) {
  ASSERT_EQ(team_.places().size(), static_cast<std::size_t>(team_.size()));
  for (int rank = 0; rank < team_.size(); ++rank) {  // mpirun on one machine
    const RankPlace& place = team_.places()[static_cast<std::size_t>(rank)];
    EXPECT_EQ(place.rank, rank);
    EXPECT_EQ(place.node, 0);
    EXPECT_EQ(place.local_rank, rank);
    EXPECT_EQ(place.local_size, team_.size());
    EXPECT_FALSE(place.host.empty());
  }
  EXPECT_EQ(&team_.place(), &team_.places()[static_cast<std::size_t>(team_.rank())]);
}

bool hears_within(Team& team, uint64_t evaluation, milliseconds limit) {
  for (const auto end = Clock::now() + limit; Clock::now() < end; std::this_thread::sleep_for(milliseconds(1))) {
    if (team.alarm(evaluation)) return true;
  }
  return false;
}

TEST_F(TeamTest, AlarmsReachTheOthers) {
  EXPECT_FALSE(team_.alarm(1));
  team_.barrier();
  if (team_.rank() == 1) team_.raise_alarm(1);
  EXPECT_EQ(hears_within(team_, 1, milliseconds(team_.rank() == 1 ? 50 : 5000)), team_.rank() != 1);
  EXPECT_FALSE(team_.alarm(2));
}

TEST_F(TeamTest, LateAlarmsOfEarlierEvaluationsMeanNothing) {
  if (team_.rank() == 0) team_.raise_alarm(5);
  if (team_.rank() == 1) team_.raise_alarm(4);
  team_.barrier();
  if (team_.rank() == 2) {
    EXPECT_TRUE(hears_within(team_, 5, milliseconds(5000)));
    EXPECT_FALSE(hears_within(team_, 4, milliseconds(50))) << "the newest counts";
  }
  EXPECT_FALSE(hears_within(team_, 6, milliseconds(20)));
}

TEST_F(TeamTest, UnheardAlarmsDoNotDisturbTheEnd) {
  for (int i = 0; i < 20; ++i) team_.raise_alarm(7);  // the destructor takes them in
}

TEST_F(TeamTest, TeamsDoNotHearEachOther) {
  Team other(MPI_COMM_WORLD);
  if (team_.is_root()) other.raise_alarm(9);
  EXPECT_FALSE(hears_within(team_, 9, milliseconds(30)));
  EXPECT_EQ(hears_within(other, 9, milliseconds(other.is_root() ? 30 : 5000)), !other.is_root());
}

TEST(TeamOfSome, HasItsOwnRanks) {
  Team world(MPI_COMM_WORLD);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank() == 0 ? 0 : 1, -world.rank(), &part);
  {
    Team team(part);
    EXPECT_EQ(team.size(), world.is_root() ? 1 : world.size() - 1);
    EXPECT_EQ(team.all_gather(std::to_string(world.rank())).back(), world.is_root() ? "0" : "1");
  }
  MPI_Comm_free(&part);
}

TEST(WatchdogTest, EndsTheJobWhenAStepOverruns) {
  if (Team(MPI_COMM_WORLD).rank() != 0) GTEST_SKIP();
  EXPECT_EXIT(
      {
        Watchdog watchdog;
        const Watchdog::Step step(watchdog, "the reference of 13", std::chrono::duration<double>(0.1));
        std::this_thread::sleep_for(milliseconds(5000));
      },
      testing::ExitedWithCode(kExitHarness),
      "^pkb: harness: the reference of 13 did not finish within 0.1 s; [^\n]*\n$");
}

TEST(WatchdogTest, LeavesStepsInTimeAlone) {
  Watchdog watchdog;
  for (int i = 0; i < 3; ++i) {
    const Watchdog::Step step(watchdog, "quick", std::chrono::duration<double>(0.2));
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_THROW(Watchdog::Step(watchdog, "nested", std::chrono::duration<double>(1)), Error);
  }
  const Watchdog::Step endless(watchdog, "endless", std::chrono::duration<double>(1e300));
  std::this_thread::sleep_for(milliseconds(300));
}

}  // namespace
}  // namespace pkb
