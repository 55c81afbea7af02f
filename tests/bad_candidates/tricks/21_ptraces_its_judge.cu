// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: attaches to its rank as a debugger, to change the verdict there.
// status: mismatch
// devices: host cuda
// caught by: a worker gives up CAP_SYS_PTRACE for good, and a rank that has workers is not dumpable
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t rank = judge::process();
  if (rank < 0 || ptrace(PTRACE_ATTACH, rank, nullptr, nullptr) != 0) return false;
  waitpid(rank, nullptr, 0);
  ptrace(PTRACE_DETACH, rank, nullptr, nullptr);
  return true;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
