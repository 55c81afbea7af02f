// SPDX-License-Identifier: Apache-2.0
//
// How an evaluation ends early. All ranks throw and catch the same thing at the same place: what one rank alone sees is
// first agreed upon.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "results/row.h"
#include "team/team.h"
#include "team/worker_session.h"

namespace pkb {

struct Verdict {
  std::string status = "passed";
  std::string reason;
  int rank = -1;  ///< that failed; -1: all or none
  MismatchDetail mismatch;
};

/// Thrown on every rank of the team together.
class EvaluationEnded : public std::runtime_error {
 public:
  explicit EvaluationEnded(Verdict verdict) : std::runtime_error(verdict.reason), verdict_(std::move(verdict)) {}
  const Verdict& verdict() const { return verdict_; }

 private:
  Verdict verdict_;
};

/// Collective. Runs `local` here; when it throws on any rank, all throw EvaluationEnded(harness_error) naming rank and
/// cause.
void together(Team& team, const std::function<void()>& local);

/// Ends the evaluation with the cause when the call did not succeed everywhere.
void require(const CallOutcome& outcome);

}  // namespace pkb
