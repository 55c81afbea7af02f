// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "evaluate/dynamic_symbols.h"
#include "evaluate/mechanisms.h"
#include "evaluate/program.h"

namespace pkb {
namespace {

const char* const kShipped = PKB_BUILD_DIR "/lib/pkb/01_allreduce/candidate.host.so";

TEST(DynamicSymbols, AreReadWithoutLoading) {
  const DynamicSymbols symbols = dynamic_symbols(read_file(kShipped));
  const auto has = [](const std::vector<std::string>& names, const std::string& beginning) {
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(beginning); });
  };
  EXPECT_TRUE(has(symbols.libraries, "libpkb_hostcuda"));
  EXPECT_TRUE(has(symbols.exports, "pkb_run"));
  EXPECT_FALSE(has(symbols.imports, "pkb_run"));
  EXPECT_EQ(refused_link(symbols), "");
}

TEST(DynamicSymbols, BrokenFilesAreEmptyAndHarmless) {
  EXPECT_TRUE(dynamic_symbols("").libraries.empty());
  EXPECT_TRUE(dynamic_symbols("\177ELF").imports.empty());
  const std::string good = read_file(kShipped);
  for (std::size_t length = 0; length < good.size(); length += 97)
    dynamic_symbols(std::string_view(good).substr(0, length));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    for (int flips = 0; flips < 20; ++flips)
      bad[random() % std::min<std::size_t>(bad.size(), 4096)] = static_cast<char>(random());
    dynamic_symbols(bad);
  }
}

TEST(RefusedLink, NamesWhatAndWhy) {
  EXPECT_EQ(refused_link({{"libc.so.6", "libnccl.so.2"}, {}, {}}), "links libnccl.so.2: a candidate may not use NCCL");
  EXPECT_EQ(refused_link({{}, {"cudaMalloc", "MPI_Send"}, {}}), "calls MPI_Send: a candidate may not use MPI");
  EXPECT_EQ(refused_link({{}, {}, {"ncclAllReduce"}}), "contains ncclAllReduce: a candidate may not use NCCL");
  EXPECT_EQ(refused_link({{"libtorch_cpu.so"}, {}, {}}), "links libtorch_cpu.so: a candidate may not use LibTorch");
  EXPECT_EQ(refused_link({{"libcublas.so.13"}, {"cublasCreate_v2"}, {"pkb_run"}}), "");
}

TEST(Mechanisms, AreReadFromMachineCode) {
  const auto in = [](const char* text) {
    std::istringstream listing(text);
    return mechanisms_in(listing);
  };
  using Words = std::set<std::string>;
  EXPECT_EQ(in("  LDG.E.128 R4, [R2] ;\n  STG.E [R2], R4 ;"), Words());
  EXPECT_EQ(in("  ST.E.STRONG.SYS [R2], R4 ;"), Words{"sm"});
  EXPECT_EQ(in("  UBLKCP.G.S [UR4], [UR6], UR8 ;"), Words{"tma"});
  EXPECT_EQ(in("  LDGMC.E.ADD.F32.RN.STRONG.SYS R0, [R2] ;"), (Words{"multicast", "sm"}));
}

TEST(Mechanisms, CopiesAreCallsOfTheRuntime) {
  EXPECT_TRUE(calls_copies({{}, {"cudaMemcpyPeerAsync"}, {}}));
  EXPECT_TRUE(calls_copies({{}, {"cudaMemcpy2DAsync"}, {}}));
  EXPECT_FALSE(calls_copies({{}, {"cudaMemcpy", "memcpy", "cudaMemsetAsync"}, {}}));
}

}  // namespace
}  // namespace pkb
