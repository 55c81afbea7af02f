// SPDX-License-Identifier: Apache-2.0
#include "evaluate/verdict.h"

namespace pkb {

void together(Team& team, const std::function<void()>& local) {
  std::string failure;
  try {
    local();
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "an error without a text";
  }
  if (team.all(failure.empty())) return;
  const auto failures = team.all_gather(failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    throw EvaluationEnded(
        {"harness_error", "rank " + std::to_string(rank) + ": " + failures[rank], static_cast<int>(rank), {}});
  }
}

void require(const CallOutcome& outcome) {
  if (outcome.ok()) return;
  int rank = -1;
  const RankOutcome& cause = outcome.cause(&rank);
  throw EvaluationEnded({cause.status, "rank " + std::to_string(rank) + ": " + cause.reason, rank, {}});
}

}  // namespace pkb
