// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: opens /proc/<rank>/mem to write its verdict there.
// status: mismatch
// devices: host cuda
// caught by: a worker gives up CAP_SYS_PTRACE for good, and a rank that has workers is not dumpable
#include <fcntl.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t rank = judge::process();
  const int memory = open(("/proc/" + std::to_string(rank) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  if (rank < 0 || memory < 0) return false;
  close(memory);
  return true;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
