// SPDX-License-Identifier: Apache-2.0
//
// One evaluation as it is recorded. NaN and empty strings mean "no value" (null in JSON, an empty field in CSV).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace pkb {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Times of one side in one mode, microseconds a call.
struct SideTimes {
  double mean_us =
      kNoValue;  ///< headline: one event pair around the loop / calls, slowest rank (isolated: mean of max over ranks)
  double wall_us = kNoValue;  ///< the rank's own clock around the same loop / calls, slowest rank
  double min_us = kNoValue, median_us = kNoValue, p95_us = kNoValue,
         stdev_us = kNoValue;                ///< of max over ranks, call by call
  std::vector<std::vector<double>> call_us;  ///< [rank][call], from the instrumented pass; JSON only
  std::string null_reason;                   ///< why there is no time ("cannot be captured: ..."); empty otherwise
};

/// The first wrong element of the worst output.
struct MismatchDetail {
  int rank = -1;
  std::string output, case_name;
  int trial = -1;  ///< -1: found in the timed calls
  int call = -1;   ///< of the burst, or the draw of the timed calls
  int64_t index = -1;
  double got = kNoValue, expected = kNoValue;
  int64_t wrong = 0, elements = 0;
};

struct Row {
  // What was judged.
  int problem_id = 0;
  std::string problem, title;
  std::vector<std::string> suites, mechanisms;
  std::string domain;
  int level = 0;
  std::string candidate;  ///< folder or file as given; "shipped"; "none"
  std::string sample;     ///< file name without its ending
  int repeat = 0;         ///< which pass over the selection, from 0
  std::string candidate_sha256;
  std::string size;
  std::string params;  ///< "M=1024 N=1024", overrides included
  int world = 0;
  std::string device;  ///< cuda, host
  std::string io;      ///< private, symmetric
  std::string timing;  ///< stream, isolated, graph; empty: not timed

  // Verdict.
  std::string status = "passed";  ///< see DESIGN: passed mismatch compile_error load_error setup_error runtime_error
                                  ///< crashed timeout diverged implausible cheated skipped harness_error
  std::string reason;
  int failing_rank = -1;
  int trials = 0;  ///< that were run
  MismatchDetail mismatch;
  double max_absolute_error = kNoValue, max_relative_error = kNoValue;
  std::string log_tail;

  // Times.
  int warmup = 0, iterations = 0, draws = 0;
  std::string shared_inputs;  ///< the draws have them in common; names
  std::string l2;             ///< warm, cold; empty on host
  std::string baseline;       ///< the fastest
  SideTimes reference, candidate_times;
  double speedup = kNoValue;
  double setup_us = kNoValue;

  // Hardware limits.
  std::string profile;                                         ///< H100, H200, B200; empty: none
  double roofline_us = kNoValue, roofline_percent = kNoValue;  ///< T_roof, T_roof / candidate mean
  std::string bound;                                           ///< compute, memory, link
  double flops = kNoValue, memory_bytes = kNoValue, link_bytes = kNoValue;
  double algbw_gbps = kNoValue, busbw_gbps = kNoValue;  ///< pure collectives, nccl-tests' definitions
  double sm_clock_mhz = kNoValue;
  std::string throttle;

  uint64_t seed = 0;
  std::string started;            ///< UTC, ISO 8601
  double seconds = 0;             ///< the whole evaluation
  int64_t memory_bytes_peak = 0;  ///< device memory in use on the fullest GPU, or resident memory on host
};

}  // namespace pkb
