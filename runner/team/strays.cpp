// SPDX-License-Identifier: Apache-2.0
#include "team/strays.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace pkb {
namespace {

struct Process {
  pid_t parent = 0;
  bool is_dead = false;  ///< a zombie
};

/// From /proc/<pid>/stat, whose second field, a name in brackets, may hold anything.
bool read_process(pid_t pid, Process& process) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return false;
  process.is_dead = text[name_end + 2] == 'Z';
  const char* const number = text.data() + name_end + 4;
  return std::from_chars(number, text.data() + text.size(), process.parent).ec == std::errc();
}

std::map<pid_t, Process> all_processes() {
  std::map<pid_t, Process> all;
  std::error_code gone;
  for (std::filesystem::directory_iterator entry("/proc", gone), end; !gone && entry != end; entry.increment(gone)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    Process process;
    if (read_process(pid, process)) all[pid] = process;
  }
  return all;
}

bool descends_from(pid_t pid, pid_t ancestor, const std::map<pid_t, Process>& all) {
  for (int steps = 0; steps < 100; ++steps) {
    const auto found = all.find(pid);
    if (found == all.end()) return false;
    if (found->second.parent == ancestor) return true;
    pid = found->second.parent;
  }
  return false;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int kill_strays(const std::vector<pid_t>& known) {
  int strays = 0;
  const std::map<pid_t, Process> all = all_processes();
  for (const auto& [pid, process] : all) {
    if (std::find(known.begin(), known.end(), pid) != known.end() || !descends_from(pid, ::getpid(), all)) continue;
    if (!process.is_dead) ++strays;
    ::kill(pid, SIGKILL);
    if (process.parent == ::getpid()) ::waitpid(pid, nullptr, process.is_dead ? 0 : WNOHANG);
  }
  return strays;
}

}  // namespace pkb
