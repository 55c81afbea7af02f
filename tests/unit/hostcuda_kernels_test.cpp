// SPDX-License-Identifier: Apache-2.0
//
// What kernels compute: shared memory, warps, grids, atomics, launches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "hostcuda/cuda/bf16.h"
#include "hostcuda/cuda/fp16.h"
#include "hostcuda/runtime.h"
#include "hostcuda_support.h"

namespace pkb::hostcuda::testing {
namespace {

TEST(HostCudaShared, StaticTreeReduction) {
  const Module module("reduction");
  auto* const run = module.get<int(const float*, float*, int, int)>("run_sum_static");
  const int n = 10'007, blocks = 5;
  std::vector<float> x(n), sums(blocks, -1);
  std::iota(x.begin(), x.end(), -5000.0f);
  ASSERT_EQ(run(x.data(), sums.data(), n, blocks), kSuccess);
  const double expected = std::accumulate(x.begin(), x.end(), 0.0);
  EXPECT_NEAR(std::accumulate(sums.begin(), sums.end(), 0.0), expected, 1.0);
}

TEST(HostCudaShared, DynamicTreeReduction) {
  const Module module("reduction");
  auto* const run = module.get<int(const double*, double*, int, int)>("run_sum_dynamic");
  std::vector<double> x(999);
  std::iota(x.begin(), x.end(), 1.0);
  for (const int threads : {1, 32, 128, 1024}) {
    double sum = -1;
    ASSERT_EQ(run(x.data(), &sum, 999, threads), kSuccess);
    EXPECT_EQ(sum, 999.0 * 1000 / 2) << threads << " threads";
  }
}

TEST(HostCudaShared, EachInstanceOfADeviceTemplateHasItsOwn) {
  const Module module("reduction");
  std::vector<int> x(96);
  std::iota(x.begin(), x.end(), 0);
  int integer = 0;
  float floating = 0;
  ASSERT_EQ(module.get<int(const int*, int*, float*)>("run_sums_of_two_types")(x.data(), &integer, &floating),
            kSuccess);
  EXPECT_EQ(integer, 95 * 96 / 2);
  EXPECT_EQ(floating, 95 * 96 / 4.0f);
}

TEST(HostCudaShared, LambdasSeeTheMemoryItself) {
  const Module module("reduction");
  std::vector<int> out(64);
  ASSERT_EQ(module.get<int(int*)>("run_through_lambda")(out.data()), kSuccess);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[static_cast<std::size_t>(t)], 3 * (64 - t));
}

TEST(HostCudaWarp, SoftmaxOfRows) {
  const Module module("softmax");
  const int rows = 13, columns = 77;
  std::vector<float> x(rows * columns), y(x.size(), -1);
  std::mt19937 random(1);
  for (float& value : x) value = std::normal_distribution<float>(0, 3)(random);
  ASSERT_EQ(module.get<int(const float*, float*, int, int)>("run_softmax")(x.data(), y.data(), rows, columns),
            kSuccess);
  for (int r = 0; r < rows; ++r) {
    const float* const row = &x[static_cast<std::size_t>(r * columns)];
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(row[c]));
    for (int c = 0; c < columns; ++c) {
      EXPECT_NEAR(y[static_cast<std::size_t>(r * columns + c)], std::exp(static_cast<double>(row[c])) / sum, 1e-6);
    }
  }
}

TEST(HostCudaWarp, EveryOperation) {
  const Module module("softmax");
  const int threads = 64, results = module.get<int()>("result_count")();
  std::vector<int> out(static_cast<std::size_t>(threads * results), -99);
  ASSERT_EQ(module.get<int(int*, int)>("run_every_operation")(out.data(), threads), kSuccess);
  unsigned thirds = 0;
  for (unsigned lane = 0; lane < 32; lane += 3) thirds |= 1u << lane;
  for (int t = 0; t < threads; ++t) {
    const int lane = t % 32;
    const int* const mine = &out[static_cast<std::size_t>(t * results)];
    unsigned fifth = 0;
    for (int other = 0; other < 32; ++other) fifth |= other / 5 == lane / 5 ? 1u << other : 0;
    const int tile_first = lane / 8 * 8;
    const std::vector<int> expected = {
        lane >= 3 ? lane - 3 : lane,
        lane % 8 < 6 ? lane + 2 : lane,
        static_cast<int>(thirds),
        1,
        0,
        static_cast<int>(fifth),
        0,  // all lanes as a mask is -1, and all = 1
        31 * 16,
        5 - 31,
        -1,  // 5u - lane wraps, and is largest where it just did
        -1,
        lane < 16 ? 15 * 8 : 15 * 8 + 16 * 16,
        lane % 2 == 0 ? 0x55555555 : 0,
        8 * tile_first + 28,
        lane % 8 + 100 * (t / 8),
        9,
        lane ^ 1,
        lane >= 20 ? 1200 + lane - 20 : -1,
    };
    ASSERT_EQ(static_cast<int>(expected.size()), results);
    for (int i = 0; i < results; ++i)
      EXPECT_EQ(mine[i], expected[static_cast<std::size_t>(i)]) << "result " << i << ", thread " << t;
  }
}

TEST(HostCudaGrid, SynchronizesByEveryNameOfACooperativeLaunch) {
  const Module module("grid");
  auto* const run = module.get<int(int*, int, int, int)>("run_shift");
  for (int how = 0; how < 4; ++how) {
    for (const int blocks : {1, 7, 32}) {
      std::vector<int> cells(static_cast<std::size_t>(blocks));
      std::iota(cells.begin(), cells.end(), 0);
      ASSERT_EQ(run(cells.data(), 5, blocks, how), kSuccess) << "launch " << how;
      for (int b = 0; b < blocks; ++b)
        EXPECT_EQ(cells[static_cast<std::size_t>(b)], ((b - 5) % blocks + blocks) % blocks);
    }
  }
}

TEST(HostCudaGrid, BlocksOfAnOrdinaryLaunchAreCoResident) {
  const Module module("grid");
  int token = 0;
  ASSERT_EQ(module.get<int(int*, int)>("run_relay")(&token, 60), kSuccess);
  EXPECT_EQ(token, 60);
}

TEST(HostCudaGrid, KernelsOfTwoStreamsWaitForEachOther) {
  const Module module("grid");
  unsigned flag = 0;
  ASSERT_EQ(module.get<int(unsigned*, unsigned)>("run_ping")(&flag, 200), kSuccess);
  EXPECT_EQ(flag, 400u);
}

TEST(HostCudaGrid, RefusesACooperativeLaunchThatDoesNotFit) {
  const Module module("grid");
  std::vector<int> cells(4);
  EXPECT_EQ(module.get<int(int*)>("run_too_large")(cells.data()), kTooLarge);
  EXPECT_NE(take_error().find("100000 blocks"), std::string::npos);
}

TEST(HostCudaAtomics, EveryFunctionFromManyBlocks) {
  struct Cells {
    int added = 0, subtracted = 0, smallest = 99, largest = -99, ored = 0, anded = -1, xored = 0, exchanged = 0,
        swapped = 0;
    unsigned wrapped = 0, unwrapped = 0, by_reference = 0, flagged = 0;
    unsigned long long wide = 0;
    float real = 0;
    double precise = 0;
    __nv_bfloat162 pair{0.0f, 0.0f};
    __half half{0.0f};
    __half padding{0.0f};
  } cells;
  const Module module("atomics");
  const int blocks = 9, threads = 70, n = blocks * threads;
  ASSERT_EQ(module.get<int(void*, int, int)>("run_all_atomics")(&cells, blocks, threads), kSuccess);
  int xored = 0;
  for (int i = 0; i < n; ++i) xored ^= i;
  EXPECT_EQ(cells.added, n);
  EXPECT_EQ(cells.subtracted, -2 * n);
  EXPECT_EQ(cells.smallest, -5);
  EXPECT_EQ(cells.largest, n - 1);
  EXPECT_EQ(cells.ored, 0x7fffffff);
  EXPECT_EQ(cells.anded, static_cast<int>(0x80000000));
  EXPECT_EQ(cells.xored, xored);
  EXPECT_EQ(cells.exchanged, 7);
  EXPECT_EQ(cells.swapped, 3 * n);
  EXPECT_EQ(cells.wrapped, static_cast<unsigned>(n % 10));
  EXPECT_EQ(cells.unwrapped, static_cast<unsigned>((10 - n % 10) % 10));
  EXPECT_EQ(cells.by_reference, static_cast<unsigned>(n));
  EXPECT_EQ(cells.wide, static_cast<unsigned long long>(n) << 33);
  EXPECT_EQ(cells.real, 0.5f * n);
  EXPECT_EQ(cells.precise, 0.25 * n);
  EXPECT_EQ(static_cast<float>(cells.pair.x), 8.0f);
  EXPECT_EQ(static_cast<float>(cells.pair.y), 16.0f);
  EXPECT_EQ(static_cast<float>(cells.half), 8.0f);
}

TEST(HostCudaLaunch, TemplatesExpressionsAndNames) {
  const Module module("launches");
  auto* const run = module.get<int(int*, int)>("run_launches");
  std::vector<int> out(64);
  const auto launch = [&](int which) {
    std::fill(out.begin(), out.end(), -7);
    ASSERT_EQ(run(out.data(), which), kSuccess) << "launch " << which << ": " << take_error();
  };
  launch(0);
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 5), (std::vector<int>{6, 6, 6, 6, -7}));
  launch(1);
  EXPECT_EQ(out[3], -10);
  launch(2);
  EXPECT_EQ(out[0], 300 << 16 | 300);
  launch(3);
  EXPECT_EQ(std::vector<int>(out.begin(), out.begin() + 4), (std::vector<int>{8, 8, 9, 9}));
  launch(4);
  EXPECT_EQ(reinterpret_cast<const double&>(out[0]), 6.5);
  launch(5);
  EXPECT_EQ(out[0], 42);
  launch(6);
  EXPECT_EQ(out[3], 8 + 15);
  launch(6);
  EXPECT_EQ(out[3], 8 + 3 * 11);
  launch(7);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[47], 1 * 10000 + 2 * 100 + 1);
  launch(8);
  EXPECT_EQ(out[0], 10);
  launch(9);
  EXPECT_EQ(out[0], 2);
  launch(10);
  EXPECT_EQ(out[3], 13);
}

TEST(HostCudaLaunch, SharedVariablesOfBranches) {
  const Module module("launches");
  auto* const run = module.get<int(int*, int)>("run_in_branches");
  std::vector<int> out(4);
  ASSERT_EQ(run(out.data(), 0), kSuccess);
  EXPECT_EQ(out, (std::vector<int>{5, 5, 5, 5}));
  ASSERT_EQ(run(out.data(), 1), kSuccess);
  EXPECT_EQ(out, (std::vector<int>{6, 6, 6, 6}));
}

TEST(HostCudaLaunch, RefusesWhatAGpuRefuses) {
  const Module module("launches");
  auto* const run = module.get<int(int*, int)>("run_refused");
  int out = 0;
  EXPECT_EQ(run(&out, 0), kInvalidValue) << "more threads than __launch_bounds__";
  EXPECT_EQ(run(&out, 1), kInvalidConfiguration) << "more than 1024 threads";
  EXPECT_EQ(run(&out, 2), kInvalidConfiguration) << "no blocks";
  EXPECT_EQ(run(&out, 3), kInvalidValue) << "more than 48 KiB without asking";
  EXPECT_EQ(run(&out, 4), kSuccess) << "with asking";
  EXPECT_EQ(out, 9);
  EXPECT_EQ(run(&out, 5), kInvalidHandle);
  take_error();
}

}  // namespace
}  // namespace pkb::hostcuda::testing
