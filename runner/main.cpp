// SPDX-License-Identifier: Apache-2.0
//
// pkb_runner: judges candidate kernels. One MPI rank a GPU; every rank is the trusted side of its GPU.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "core/error.h"
#include "evaluate/run.h"
#include "options/options.h"
#include "team/team.h"

namespace {

int run(int argc, char** argv, pkb::Team& team) {
  // 1. What is asked for.
  const pkb::Options options = pkb::parse_options(pkb::Program::runner, {argv + 1, argv + argc});
  if (pkb::answer_without_running(options, team)) return pkb::kExitPassed;

  // 2. What there is: problems, and a device for every rank.
  pkb::Run run(options, team, {argv, argv + argc});

  // 3. What will be done.
  run.plan();
  if (options.dry_run) return pkb::kExitPassed;

  // 4. Do it.
  const pkb::SweepResult result = run.execute();

  // 5. Report.
  run.report(result);
  return result.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    pkb::MpiSession mpi(argc, argv);
    pkb::Team team(MPI_COMM_WORLD);
    try {
      return run(argc, argv, team);
    } catch (const pkb::UsageError& error) {
      return pkb::leave(team, pkb::kExitUsage, error.what());
    } catch (const std::exception& error) {
      return pkb::leave(team, pkb::kExitHarness, error.what());
    }
  } catch (const pkb::UsageError& error) {
    std::fprintf(stderr, "pkb: %s\n", error.what());
    return pkb::kExitUsage;
  }
}
