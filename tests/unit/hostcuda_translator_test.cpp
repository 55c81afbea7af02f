// SPDX-License-Identifier: Apache-2.0
//
// The compiler driver: what it refuses and how it says so.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hostcuda_support.h"

namespace pkb::hostcuda::testing {
namespace {

void expect_error(const ToolResult& result, const std::string& place, const std::string& what) {
  EXPECT_NE(result.status, 0);
  const std::size_t at = result.text.find(place);
  ASSERT_NE(at, std::string::npos) << "no error at " << place << " in:\n" << result.text;
  const std::string line = result.text.substr(at, result.text.find('\n', at) - at);
  EXPECT_NE(line.find(what), std::string::npos) << line;
}

TEST(HostCudaTranslator, RefusesPtxWithFileAndLine) {
  const std::string source = test_source("refused/ptx.cu");
  const ToolResult result = run_tool("-o /dev/null " + source);
  EXPECT_EQ(result.status, 1);
  expect_error(result, source + ":6: error:", "inline assembly (\"ld.acquire.sys.global.u32");
}

TEST(HostCudaTranslator, ReportsEveryFaultOfAFile) {
  const std::string source = test_source("refused/several.cu");
  const ToolResult result = run_tool("-o /dev/null " + source);
  expect_error(result, source + ":6: error:", "dynamic parallelism");
  expect_error(result, source + ":9: error:", "__shared__");
  expect_error(result, source + ":11: error:", "texture");
  expect_error(result, source + ":13: error:", "__cluster_dims__");
}

TEST(HostCudaTranslator, RefusesHeadersOfTheToolkitItDoesNotHave) {
  const std::string source = test_source("refused/header.cu");
  const ToolResult result = run_tool("-o /dev/null " + source);
  expect_error(result, source + ":4:", "mma.h");
}

TEST(HostCudaTranslator, KeepsLinesForTheCompilersErrors) {
  const std::string source = test_source("refused/cpp_error.cu");
  expect_error(run_tool("-o /dev/null " + source), source + ":9: error:", "missing");
}

TEST(HostCudaTranslator, TranslatesOnly) {
  const ToolResult result = run_tool("--translate-only " + test_source("fence.cu"));
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.text.find("::pkb::hostcuda::enter<"), std::string::npos);
  EXPECT_EQ(result.text.find("__global__"), std::string::npos);
}

class InAFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("hostcuda_test." + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

 private:
  std::filesystem::path folder_;
};
using HostCudaDriver = InAFolder;

TEST_F(HostCudaDriver, TakesFoldersMacrosAndOptimization) {
  std::filesystem::create_directories(file("headers"));
  write("headers/factor.cuh", "#pragma once\n__device__ inline int factor() { return FACTOR; }\n");
  write("a.cu",
        "#include \"factor.cuh\"\n__global__ void k(int* x) { *x = factor(); }\n"
        "extern \"C\" int run(int* x) { k<<<1, 1>>>(x); return cudaDeviceSynchronize(); }\n");
  const ToolResult result = run_tool("-O2 -I " + file("headers") + " -DFACTOR=17 --depfile " + file("a.d") + " -o " +
                                     file("a.so") + " " + file("a.cu"));
  ASSERT_EQ(result.status, 0) << result.text;
  int x = 0;
  {
    const Module module("a", file("a.so"));
    EXPECT_EQ(module.get<int(int*)>("run")(&x), kSuccess);
  }
  EXPECT_EQ(x, 17);
  std::ifstream depfile(file("a.d"));
  const std::string dependencies{std::istreambuf_iterator<char>(depfile), {}};
  EXPECT_NE(dependencies.find("factor.cuh"), std::string::npos);
  EXPECT_NE(dependencies.find("a.so:"), std::string::npos);
}

TEST_F(HostCudaDriver, LeavesNoOutputBehindAnError) {
  write("bad.cu", "__global__ void k() { undeclared(); }\n");
  EXPECT_NE(run_tool("-o " + file("bad.so") + " " + file("bad.cu")).status, 0);
  EXPECT_FALSE(std::filesystem::exists(file("bad.so")));
  write("unresolved.cu", "void nowhere();\nvoid run() { nowhere(); }\n");
  const ToolResult result = run_tool("-o " + file("bad.so") + " " + file("unresolved.cu"));
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.text.find("nowhere"), std::string::npos) << result.text;
}

TEST_F(HostCudaDriver, SaysWhatIsWrongWithItsArguments) {
  EXPECT_EQ(run_tool("").status, 2);
  EXPECT_NE(run_tool("").text.find("no source file"), std::string::npos);
  EXPECT_EQ(run_tool("--no-such-option x.cu").status, 2);
  EXPECT_NE(run_tool("-o /dev/null " + file("missing.cu")).status, 0);
  EXPECT_EQ(run_tool("--help").status, 0);
}

}  // namespace
}  // namespace pkb::hostcuda::testing
