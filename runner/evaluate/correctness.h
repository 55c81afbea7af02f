// SPDX-License-Identifier: Apache-2.0
//
// The correctness half of the protocol: trials of three calls on three draws without synchronisation between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "evaluate/contestant.h"
#include "evaluate/job.h"

namespace pkb {

struct CorrectnessReport {
  int trials = 0;
  double max_absolute_error = 0, max_relative_error = 0;
  bool default_set_up = true;  ///< the contestant is still set up for the default case
};

/// Collective. Compares every slot's outputs with the reference, and its inputs with what was drawn; throws
/// EvaluationEnded(mismatch) that names the first failing rank, output and index. `trial` is -1 for timed calls. The
/// first slot is written to the folder `dumps`; empty: it is not.
void check_slots(Job& job, Contestant& contestant, const Instance& instance, int slots, int trial,
                 CorrectnessReport& report, const std::filesystem::path& dumps = {});

/// Collective. The trials of the cases that share the parameters `contestant` is set up for, then of those that need a
/// set-up of their own. Throws EvaluationEnded at the first failure.
CorrectnessReport check(Job& job, Contestant& contestant, const Problem& problem, const std::string& size,
                        const Overrides& overrides, int slots, const std::filesystem::path& dumps);

/// Collective. The same trials for the reference alone: that it runs, and that its outputs are as declared.
CorrectnessReport check_reference(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                                  const std::filesystem::path& dumps);

}  // namespace pkb
