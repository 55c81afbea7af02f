// SPDX-License-Identifier: Apache-2.0
//
// Trick 28: opens the reference's library for writing (and changes nothing), to have it give the answers it
//   likes.
// status: mismatch
// on host: setup_error where the user may write to the build folder
// devices: host cuda
// caught by: the rights of the user's files, where they forbid it
// out of reach: a candidate has the rights of the user who runs it; install pkb where that user cannot write,
//   or run in a container
#include <fcntl.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return false;
  const std::string worker = program;  // <build>/bin/pkb_worker
  const std::string build = worker.substr(0, worker.rfind("/bin/"));
  const int library = open((build + "/lib/pkb/01_allreduce/reference.so").c_str(), O_WRONLY | O_CLOEXEC);
  if (library < 0) return false;
  close(library);
  return true;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
