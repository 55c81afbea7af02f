// SPDX-License-Identifier: Apache-2.0
//
// Trick 31: maps the memory of its rank through /proc/<rank>/map_files, where a reference leaves its finished
//   result.
// status: mismatch
// devices: host
// caught by: a rank that has workers is not dumpable; and outputs are compared after the worker was stopped
#include <fcntl.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  const pid_t rank = judge::process();
  const std::string folder = "/proc/" + std::to_string(rank) + "/map_files";
  DIR* const maps = opendir(folder.c_str());
  if (rank < 0 || maps == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(maps)) {
    if (entry->d_name[0] != '.')
      found = found || open((folder + "/" + entry->d_name).c_str(), O_RDONLY | O_CLOEXEC) >= 0;
  }
  closedir(maps);
  return found;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
