// SPDX-License-Identifier: Apache-2.0
//
// The worker process: loads one candidate and serves its rank over the socket it was started with. It knows neither MPI
// nor LibTorch and holds no expected value at any time.
#include <cstdio>
#include <exception>

#include "core/error.h"
#include "worker/hardening.h"
#include "worker/worker.h"

int main() {
  constexpr int kSocket = 3;
  try {
    pkb::harden(kSocket);
    pkb::Worker(pkb::RankLink(pkb::protocol::Channel(kSocket))).serve();
  } catch (const pkb::UsageError& error) {
    std::fprintf(stderr, "pkb: %s\n", error.what());
    return pkb::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pkb_worker: %s\n", error.what());
    return pkb::kExitHarness;
  }
}
