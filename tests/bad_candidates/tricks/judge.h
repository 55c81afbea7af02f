// SPDX-License-Identifier: Apache-2.0
//
// Who judges: attacks go there and nowhere else. An attack that works ends pkb_setup with kAttackWorked, hence in a
// setup_error; one that fails leaves the outputs as they are, hence in a mismatch.
#pragma once

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace judge {

constexpr int kAttackWorked = 42;

inline std::string name_of(pid_t process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return name;
}

/// The process of this worker's rank; -1: there is none.
inline pid_t process() {
  const pid_t parent = getppid();
  return name_of(parent) == "pkb_runner" ? parent : -1;
}

/// Another worker of the same rank: the one that waits for the next candidate; -1: there is none.
inline pid_t next_worker() {
  pid_t found = -1;
  DIR* const processes = opendir("/proc");
  while (const dirent* entry = readdir(processes)) {
    const pid_t process = atoi(entry->d_name);
    if (process <= 0 || process == getpid() || name_of(process) != "pkb_worker") continue;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    pid_t parent = 0;
    file >> number >> name >> state >> parent;
    if (parent == getppid()) found = process;
  }
  closedir(processes);
  return found;
}

/// The folder of the results, which the worker's log lies in.
inline std::string results() {
  char log[4096] = {};
  if (readlink("/proc/self/fd/1", log, sizeof log - 1) <= 0) return {};
  const std::string path = log;
  const size_t logs = path.rfind("/logs/");
  return logs == std::string::npos ? std::string() : path.substr(0, logs);
}

}  // namespace judge
