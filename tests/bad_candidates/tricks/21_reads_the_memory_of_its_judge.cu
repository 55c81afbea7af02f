// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: reads the memory of its rank, where the expected answers and the seed are.
// status: mismatch
// devices: host cuda
// caught by: a worker gives up CAP_SYS_PTRACE for good, and a rank that has workers is not dumpable: its memory
//   is closed, though root may see its maps
#include <sys/uio.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t rank = judge::process();
  std::ifstream maps("/proc/" + std::to_string(rank) + "/maps");
  std::string line;
  unsigned long address = 0x400000;
  if (std::getline(maps, line)) address = std::stoul(line, nullptr, 16);
  char byte;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(address), 1};
  return rank > 0 && process_vm_readv(rank, &here, 1, &there, 1, 0) == 1;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
