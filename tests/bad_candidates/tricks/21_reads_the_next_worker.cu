// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: gets at the memory of the worker that waits for the next candidate, to spoil what is judged after
//   it.
// status: mismatch
// devices: host cuda
// caught by: a worker makes itself undumpable first of all, so that it is closed to its like
#include <sys/uio.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t worker = judge::next_worker();
  std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
  std::string line;
  if (worker < 0 || !std::getline(maps, line)) return false;
  char byte;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(std::stoul(line, nullptr, 16)), 1};
  return process_vm_readv(worker, &here, 1, &there, 1, 0) == 1;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
