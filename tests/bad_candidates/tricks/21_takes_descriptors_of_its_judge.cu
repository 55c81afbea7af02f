// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: takes the open files of its rank by pidfd_getfd and /proc/<rank>/fd: the journal is among them.
// status: mismatch
// devices: host cuda
// caught by: a worker gives up CAP_SYS_PTRACE for good, and a rank that has workers is not dumpable
#include <fcntl.h>
#include <sys/syscall.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t rank = judge::process();
  if (rank < 0) return false;
  const int process = static_cast<int>(syscall(SYS_pidfd_open, rank, 0));
  for (int number = 0; number < 64; ++number) {
    if (process >= 0 && syscall(SYS_pidfd_getfd, process, number, 0) >= 0) return true;
    if (open(("/proc/" + std::to_string(rank) + "/fd/" + std::to_string(number)).c_str(), O_RDONLY | O_CLOEXEC) >= 0)
      return true;
  }
  return false;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
