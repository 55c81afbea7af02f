// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue_text.h"

namespace pkb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::shipped;

struct Entry {
  int id;
  const char *name, *suites, *domain;
  int level;
};
constexpr Entry kEntries[] = {{1, "allreduce", "collective", "collective", 1},
                              {2, "allgather", "collective", "collective", 1},
                              {3, "broadcast", "collective", "collective", 1},
                              {7, "reducescatter", "collective", "collective", 1},
                              {8, "alltoall", "collective", "collective", 1},
                              {12, "allgather_gemm", "tp", "llm", 3},
                              {13, "gemm_allreduce", "tp", "llm", 3},
                              {16, "gemm_reducescatter", "tp, sp", "llm", 3},
                              {18, "tp_rms_norm", "tp", "llm", 2},
                              {46, "gemv_decode", "tp", "llm", 3},
                              {73, "vocab_parallel_cross_entropy_loss", "tp", "loss", 4},
                              {82, "vocab_parallel_log_prob_topk", "tp", "rl", 4}};

/// A few problems whose names, suites, domains and levels are as in the real catalogue.
const Catalogue& small() {
  static const Catalogue catalogue = [] {
    std::string text = testing::kHead;
    const std::string suites = "{tp: tensor parallelism}";
    text.replace(text.find(suites), suites.size(), "{collective: verbs, tp: tensors, sp: sequences}");
    for (const Entry& entry : kEntries) {
      text += "  - {id: " + std::to_string(entry.id) + ", name: " + entry.name + ", title: x, suites: [" +
              entry.suites + "], domain: " + entry.domain + ", level: " + std::to_string(entry.level) +
              ", params: {M: 1}, outputs: [{name: y, dtype: fp32, shape: [M]}], phases: [{mem: M}]}\n";
    }
    return testing::load_text(text);
  }();
  return catalogue;
}

std::vector<int> ids(const Selection& selection) {
  std::vector<int> result;
  for (const Problem* problem : select(small(), selection)) result.push_back(problem->id);
  return result;
}

std::string error(const Selection& selection) {
  try {
    select(small(), selection);
  } catch (const UsageError& fault) {
    return fault.what();
  }
  return "no error";
}

TEST(Selection, NothingAskedIsEverything) {
  EXPECT_EQ(ids({}).size(), small().problems().size());
}

TEST(Selection, Suites) {
  EXPECT_THAT(ids({.suites = {"collective"}}), ElementsAre(1, 2, 3, 7, 8));
  EXPECT_THAT(ids({.suites = {"sp"}}), ElementsAre(16));
  EXPECT_THAT(ids({.suites = {"sp, loss"}}), ElementsAre(16, 73));  // a domain is a suite
  EXPECT_EQ(ids({.suites = {"all"}}).size(), small().problems().size());
  EXPECT_EQ(error({.suites = {"collectiv"}}), "unknown suite collectiv, did you mean collective?");
  EXPECT_THAT(error({.suites = {"zzzzz"}}), HasSubstr("unknown suite zzzzz (all, collective, "));
}

TEST(Selection, Problems) {
  EXPECT_THAT(ids({.problems = {"13"}}), ElementsAre(13));
  EXPECT_THAT(ids({.problems = {"013"}}), ElementsAre(13));
  EXPECT_THAT(ids({.problems = {"gemm_allreduce"}}), ElementsAre(13));
  EXPECT_THAT(ids({.problems = {"13_gemm_allreduce"}}), ElementsAre(13));
  EXPECT_THAT(ids({.problems = {"7-12"}}), ElementsAre(7, 8, 12));
  EXPECT_THAT(ids({.problems = {"*gemm*"}}), ElementsAre(12, 13, 16));
  EXPECT_THAT(ids({.problems = {"0[12]_*"}}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.problems = {"82,1-2", "allreduce", "46"}}), ElementsAre(1, 2, 46, 82));
}

TEST(Selection, WhatIsSelectedTogether) {
  EXPECT_THAT(ids({.suites = {"sp"}, .problems = {"1"}}), ElementsAre(1, 16));
  EXPECT_THAT(ids({.domains = {"llm"}, .levels = {3}}), ElementsAre(12, 13, 16, 46));
  EXPECT_THAT(ids({.suites = {"tp"}, .domains = {"rl,loss"}}), ElementsAre(73, 82));
  EXPECT_THAT(ids({.suites = {"tp"}, .exclude = {"*gemm*", "73"}}), ElementsAre(18, 46, 82));
  EXPECT_THAT(error({.suites = {"sp"}, .exclude = {"16"}}), HasSubstr("no problem is selected"));
}

TEST(Selection, UnknownNamesSuggest) {
  EXPECT_EQ(error({.problems = {"gemm_alreduce"}}), "unknown problem gemm_alreduce, did you mean gemm_allreduce?");
  EXPECT_EQ(error({.problems = {"13_gem_allreduce"}}),
            "unknown problem 13_gem_allreduce, did you mean gemm_allreduce?");
  EXPECT_EQ(error({.problems = {"xyzzy"}}), "unknown problem xyzzy; --list shows all");
  EXPECT_THAT(error({.problems = {"99"}}), HasSubstr("unknown problem 99 (there are 1, 2, "));
  EXPECT_THAT(error({.problems = {"200-300"}}), HasSubstr("unknown problem 200-300"));
  EXPECT_THAT(error({.problems = {"8-1"}}), HasSubstr("unknown problem 8-1"));
  EXPECT_EQ(error({.problems = {"*gems*"}}), "no problem's name matches *gems*");
  EXPECT_EQ(error({.domains = {"los"}}), "unknown domain los, did you mean loss?");
  EXPECT_EQ(error({.levels = {9}}), "no problem is of level 9 (1, 2, 3, 4)");
  EXPECT_EQ(error({.exclude = {"brodcast"}}), "unknown problem brodcast, did you mean broadcast?");
}

TEST(Nearest, ByEditDistance) {
  const std::vector<std::string> sizes{"smoke", "default", "large"};
  EXPECT_EQ(nearest("smok", sizes), "smoke");
  EXPECT_EQ(nearest("samll", {"small", "large"}), "small");  // a swap is one edit
  EXPECT_EQ(nearest("LARGE", sizes), "large");
  EXPECT_EQ(nearest("def", sizes), "default");  // the beginning of a name
  EXPECT_EQ(nearest("huge", sizes), "");
  EXPECT_EQ(nearest("X", {"M", "N"}), "");
  EXPECT_EQ(nearest("m", {"M", "N"}), "M");
  EXPECT_EQ(nearest("anything", {}), "");
}

TEST(Profiles, ByDeviceName) {
  const auto name = [](std::string_view device) {
    const Profile* profile = shipped().profile_for_device(device);
    return profile ? profile->name : "none";
  };
  EXPECT_EQ(name("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(name("NVIDIA H200"), "H200");
  EXPECT_EQ(name("NVIDIA B200"), "B200");
  EXPECT_EQ(name("NVIDIA H100 PCIe"), "none");
  EXPECT_EQ(name("NVIDIA H200 NVL"), "none");
  EXPECT_EQ(name("NVIDIA A100-SXM4-80GB"), "none");
}

}  // namespace
}  // namespace pkb
