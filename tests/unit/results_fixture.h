// SPDX-License-Identifier: Apache-2.0
//
// Rows that stand for what a run gives, the same at every call, and a folder that goes away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "results/environment.h"
#include "results/row.h"

namespace pkb::test {

inline Row passed_row() {
  Row row;
  row.problem_id = 13;
  row.problem = "gemm_allreduce";
  row.title = "Row-parallel matrix product, summed over all ranks";
  row.suites = {"tp", "collective"};
  row.domain = "llm";
  row.level = 3;
  row.candidate = "shipped";
  row.sample = "candidate";
  row.candidate_sha256 = "5feceb66";
  row.size = "default";
  row.params = "M=1024 N=1024 K=512";
  row.world = 2;
  row.device = "cuda";
  row.io = "private";
  row.timing = "stream";
  row.trials = 5;
  row.max_absolute_error = 0.0078125;
  row.max_relative_error = 0.1;
  row.warmup = 500;
  row.iterations = 100;
  row.draws = 64;
  row.l2 = "cold";
  row.baseline = "baseline";
  row.reference = {.mean_us = 61.25,
                   .wall_us = 61.5,
                   .min_us = 60,
                   .median_us = 61,
                   .p95_us = 63.125,
                   .stdev_us = 0.5,
                   .call_us = {{61, 61.5}, {60.25, 1.0 / 3}},
                   .null_reason = ""};
  row.candidate_times = {.mean_us = 24.5,
                         .wall_us = 24.75,
                         .min_us = 24,
                         .median_us = 24.5,
                         .p95_us = 25,
                         .stdev_us = 0.1,
                         .call_us = {{24.5, 24.5}, {24.25, kNoValue}},
                         .null_reason = ""};
  row.speedup = 2.5;
  row.setup_us = 1200;
  row.profile = "H200";
  row.roofline_us = 9.8;
  row.roofline_percent = 40;
  row.bound = "link";
  row.flops = 1073741824;
  row.memory_bytes = 4194304;
  row.link_bytes = 2097152;
  row.sm_clock_mhz = 1980;
  row.seed = 18446744073709551615u;
  row.started = "2026-01-31T23:59:59Z";
  row.seconds = 1.5;
  row.memory_bytes_peak = 1 << 30;
  return row;
}

inline Row mismatch_row() {
  Row row;
  row.problem_id = 1;
  row.problem = "allreduce";
  row.title = "Sum over all ranks";
  row.suites = {"collective"};
  row.domain = "collective";
  row.level = 1;
  row.candidate = "my kernels/01_allreduce, \"fast\"";
  row.sample = "ring";
  row.repeat = 1;
  row.candidate_sha256 = "6b86b273";
  row.size = "smoke";
  row.params = "M=8 N=64";
  row.world = 4;
  row.device = "host";
  row.io = "private";
  row.status = "mismatch";
  row.reason = "rank 1: y[3] is nan, expected 0.5\n(12 of 512 wrong)";
  row.failing_rank = 1;
  row.trials = 5;
  row.mismatch = {.rank = 1,
                  .output = "y",
                  .case_name = "default",
                  .trial = 2,
                  .call = 0,
                  .index = 3,
                  .got = std::numeric_limits<double>::quiet_NaN(),
                  .expected = 0.5,
                  .wrong = 12,
                  .elements = 512};
  row.max_absolute_error = 0;
  row.seed = 1;
  row.started = "2026-02-01T00:00:00Z";
  row.seconds = 0.25;
  row.log_tail = "line 1\nline \xff 2";  // what a candidate prints need not be UTF-8
  return row;
}

inline Row skipped_row() {
  Row row;
  row.problem_id = 5;
  row.problem = "scatter";
  row.title = "Parts of rank 0's tensor to all ranks";
  row.suites = {"collective"};
  row.domain = "collective";
  row.level = 1;
  row.candidate = "shipped";
  row.sample = "candidate";
  row.size = "smoke";
  row.world = 3;
  row.device = "host";
  row.io = "private";
  row.status = "skipped";
  row.reason = "needs N divisible by W; N = 64, W = 3";
  row.seed = 1;
  row.started = "2026-02-01T00:00:01Z";
  return row;
}

/// Passed without a time in this mode.
inline Row uncaptured_row() {
  Row row = passed_row();
  row.timing = "graph";
  row.reference = {};
  row.reference.null_reason = "cannot be captured: reads a size on the host";
  row.candidate_times = {.mean_us = 7.0625, .call_us = {}, .null_reason = ""};
  row.speedup = kNoValue;
  row.roofline_percent = 138.8;
  return row;
}

inline RunRecord run_record() {
  RunRecord run;
  run.started_utc = "2026-01-31T23:59:50Z";
  run.command_line = {"pkb_runner", "--suite", "tp"};
  run.hosts = {"node1"};
  run.versions = {{"torch", "2.11.0"}, {"nccl", "2.28.9"}};
  run.environment = {{"NCCL_DEBUG", "WARN"}};
  run.kernel = "Linux 6.1 x86_64";
  run.cpu = "A processor";
  run.cpu_count = 16;
  run.seed = 1;
  run.config["trials"] = 5;
  run.config["timing"] = {"stream"};
  for (int rank = 0; rank < 2; ++rank) {
    run.devices.push_back({.rank = rank,
                           .host = "node1",
                           .node = 0,
                           .kind = "cuda",
                           .ordinal = rank,
                           .name = "NVIDIA H200",
                           .uuid = "GPU-" + std::to_string(rank),
                           .pci = rank == 0 ? "0000:1b:00.0" : "0000:29:00.0",
                           .sm_count = 132,
                           .compute_capability = "9.0",
                           .memory_bytes = 150754820096,
                           .driver = "580.1"});
  }
  return run;
}

/// A new folder below the system's temporary one, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pkb-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void store(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

inline std::filesystem::path repository() {
  return PKB_SOURCE_DIR;
}

/// With PKB_UPDATE_GOLDEN=1 the expected text is replaced instead.
inline bool updating() {
  return std::getenv("PKB_UPDATE_GOLDEN") != nullptr;
}

/// Byte for byte against tests/golden.
inline void expect_golden(const std::string& name, const std::string& text) {
  const auto file = repository() / "tests/golden" / name;
  if (updating()) store(file, text);
  EXPECT_EQ(text, contents(file)) << "differs from " << file << "; PKB_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace pkb::test
