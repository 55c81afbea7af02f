// SPDX-License-Identifier: Apache-2.0
//
// --candidate control:NAME: an answer of the trusted side in place of a candidate's, judged by output and by case.
#pragma once

#include <string>
#include <vector>

#include "evaluate/correctness.h"
#include "evaluate/job.h"
#include "reference/reference_side.h"

namespace pkb {

/// Collective. The trials of a problem with a control's answers: throws EvaluationEnded(mismatch) when each output is
/// found wrong in each case, but for what the catalogue excuses (named in the reason); returns, and so lets the control
/// pass, when all are right. In between: EvaluationEnded(passed) whose reason names the outputs and cases that are
/// right.
CorrectnessReport check_control(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                                Control control);

/// "zeros" ... Throws UsageError with the nearest valid name.
Control control_named(const std::string& name);
std::vector<std::string> control_names();

}  // namespace pkb
