// SPDX-License-Identifier: Apache-2.0
//
// Trick 22: looks for the answer in the shared memory of other processes of the job.
// status: mismatch
// devices: host
// caught by: the trusted side's tensors are in private memory; what workers share is unlinked once it is mapped
#include <fcntl.h>
#include <sys/mman.h>

#include "judge.h"
#include "pkb/candidate.h"

static bool attack() {
  bool found = false;
  DIR* const objects = opendir("/dev/shm");
  while (const dirent* entry = readdir(objects)) {
    const std::string name = entry->d_name;
    // Those of this job only: the name holds the process that made them, the rank's own workers aside.
    if (name.find("-" + std::to_string(judge::process()) + "-") == std::string::npos) continue;
    found = shm_open(("/" + name).c_str(), O_RDONLY, 0) >= 0;
  }
  closedir(objects);
  return found;
}

extern "C" int pkb_setup(const pkb_context*, const pkb_arguments*, void**) {
  return attack() ? judge::kAttackWorked : 0;
}

extern "C" int pkb_run(void*, const pkb_arguments*, cudaStream_t) {
  return 0;
}

extern "C" void pkb_teardown(void*) {}
