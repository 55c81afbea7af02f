// SPDX-License-Identifier: Apache-2.0
#include "worker/hardening.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>

#include "core/error.h"

namespace pkb {
namespace {

/// The process at the other end, which is the one that made the pair.
pid_t rank_behind(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    throw UsageError("pkb_worker is started by pkb_runner and cannot be run by hand");
  }
  return peer.pid;
}

void die_with(pid_t rank) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) throw SystemError("prctl(PR_SET_PDEATHSIG)", errno);
  if (::getppid() != rank) throw Error("the rank that started this worker is gone");  // it died before the line above
}

void close_all_above(int socket) {
  ::syscall(SYS_close_range, static_cast<unsigned>(socket) + 1, UINT_MAX, 0);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);  // children of a candidate must not keep it open
}

/// Root may read the memory of any process, dumpable or not, unless it lacks this capability; the bounding set and
/// no_new_privs keep it from coming back with an exec. Without the right to drop it there is nothing to drop.
void give_up_ptrace() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  constexpr unsigned kBit = 1U << CAP_SYS_PTRACE;
  data[0].effective &= ~kBit;
  data[0].permitted &= ~kBit;
  data[0].inheritable &= ~kBit;
  ::syscall(SYS_capset, &header, data);
}

void use_all_cpus() {
  const long count = ::sysconf(_SC_NPROCESSORS_CONF);
  if (count <= 0) return;
  const auto cpus = static_cast<std::size_t>(count);
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpus), [](cpu_set_t* any) { CPU_FREE(any); });
  const std::size_t size = CPU_ALLOC_SIZE(cpus);
  CPU_ZERO_S(size, set.get());
  for (std::size_t cpu = 0; cpu < cpus; ++cpu) CPU_SET_S(cpu, size, set.get());
  ::sched_setaffinity(0, size, set.get());  // the kernel keeps what the cgroup allows
}

}  // namespace

void harden(int socket) {
  die_with(rank_behind(socket));
  close_all_above(socket);
  give_up_ptrace();
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // no candidate reads or writes the next one's worker
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  use_all_cpus();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

}  // namespace pkb
