// SPDX-License-Identifier: Apache-2.0
//
// The time half of the protocol: reference and candidate in the same job, alternating, on the same fresh draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/contestant.h"
#include "evaluate/correctness.h"
#include "evaluate/job.h"
#include "results/row.h"

namespace pkb {

/// How many calls, over how many draws.
struct TimingPlan {
  int warmup = 0, iterations = 0, draws = 0;
  bool l2_warm = false;
};

/// As many slots as the iterations and their lead-in have draws when they fit a tenth of the free memory, else the
/// largest number from 2 up that does (1 for a giant).
int slots_that_fit(Job& job, const Instance& instance, int iterations);

/// Why the candidate's times are not believed.
struct Doubt {
  std::string status;  ///< `cheated`, `implausible`; empty: they are
  std::string reason;
};

struct TimingResult {
  TimingPlan plan;
  std::string baseline;  ///< the fastest
  SideTimes reference, candidate;
  double sm_clock_mhz =
      kNoValue;  ///< the lowest over ranks, right after the candidate's timed loops; none where it is unknown
  Doubt doubt;
  std::string throttle;  ///< what held the clock down on any rank
};

/// Collective. Times one mode ("stream", "isolated", "graph") of both sides, or of the reference alone when
/// `contestant` is null. Every timed output is compared; throws EvaluationEnded(mismatch) when one is wrong.
/// `contestant` is set up for `instance` with slots_that_fit().
TimingResult time_mode(Job& job, Contestant* contestant, const Instance& instance, const std::string& mode, int slots,
                       CorrectnessReport& report);

/// Minimum, median, p95 and standard deviation of the maximum over ranks, call by call.
void summarise(SideTimes& times);

}  // namespace pkb
