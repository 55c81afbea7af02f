// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "team/environment.h"
#include "team/polling.h"
#include "team/worker_session.h"

namespace pkb {
namespace {

constexpr int kWorkerDescriptor = 3;
constexpr int kAboveStandard =
    10;  // the child's descriptors 0 to 3 are filled one by one; sources must not be among them
constexpr auto kReapLimit = std::chrono::seconds(10);
constexpr auto kStopLimit = std::chrono::seconds(1);

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

Descriptor moved_up(Descriptor low, const std::string& what) {
  Descriptor high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kAboveStandard));
  if (high.get() < 0) throw SystemError(what, errno);
  return high;
}

std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw SystemError("socketpair", errno);
  Descriptor ours(ends[0]), theirs(ends[1]);
  return {std::move(ours), moved_up(std::move(theirs), "socketpair")};
}

Descriptor open_log(const std::filesystem::path& path) {
  Descriptor log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) throw SystemError("cannot write the candidate's log " + path.string(), errno);
  return moved_up(std::move(log), "cannot write the candidate's log " + path.string());
}

/// What the child has open: nothing to read, the log, and its end of the socket pair.
class FileActions {
 public:
  FileActions(int socket, int log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, log, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, log, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kWorkerDescriptor);
#if __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kWorkerDescriptor + 1);
#endif  // elsewhere the worker closes them itself, first of all
  }
  ~FileActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const {
    return &actions_;
  }

 private:
  posix_spawn_file_actions_t actions_;
};

/// A process group of its own, and no signal blocked, ignored or handled, whatever MPI and CUDA did in the rank.
class Attributes {
 public:
  Attributes() {
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

pid_t spawn(const std::filesystem::path& executable, int socket, int log) {
  const std::vector<std::string> variables = worker_environment(environ);
  std::vector<char*> environment;
  for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  const std::string name = executable.string();
  char* const arguments[] = {const_cast<char*>(name.c_str()), nullptr};
  const FileActions actions(socket, log);
  const Attributes attributes;
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, name.c_str(), actions.get(), attributes.get(), arguments, environment.data());
  if (error != 0) throw SystemError("cannot start the worker " + name, error);
  return pid;
}

std::string describe(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return "exited with status " + std::to_string(info.si_status);
  const char* const name = ::strsignal(info.si_status);
  std::string text = "killed by signal " + std::to_string(info.si_status) + " (" + (name ? name : "unknown");
  if (info.si_status == SIGKILL) text += "; out of memory?";
  return text + ")";
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerOptions& options) : channel_(-1) {
  auto [ours, theirs] = socket_pair();
  const Descriptor log = open_log(options.log);
  channel_ = protocol::Channel(ours.release());
  pid_ = spawn(options.executable, theirs.get(), log.get());
}

WorkerProcess::~WorkerProcess() {
  kill();
}

std::optional<std::string> WorkerProcess::how_it_ended() {
  if (ended_) return ended_;
  siginfo_t info{};
  // Looks without reaping: while the zombie keeps the number, its process group can be killed safely.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    ended_ = "vanished";
    return ended_;
  }
  if (info.si_pid == 0) return std::nullopt;
  ended_ = describe(info);
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  return ended_;
}

void WorkerProcess::stop() {
  if (ended_) return;
  ::kill(-pid_, SIGSTOP);
  // A thread inside the GPU driver stops when it leaves it; this is no reason to wait for ever.
  const Clock::time_point limit = Clock::now() + kStopLimit;
  for (Backoff backoff; Clock::now() < limit; backoff.pause()) {
    siginfo_t info{};
    const int error = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG);
    if (error != 0 || info.si_pid != 0) return;
  }
}

void WorkerProcess::go_on() {
  if (!ended_) ::kill(-pid_, SIGCONT);
}

int WorkerProcess::threads() const {
  std::error_code gone;
  int count = 0;
  for (std::filesystem::directory_iterator task("/proc/" + std::to_string(pid_) + "/task", gone), end;
       !gone && task != end; task.increment(gone)) {
    ++count;
  }
  return count;
}

void WorkerProcess::kill() {
  if (pid_ < 0 || ended_) return;
  ::kill(-pid_, SIGKILL);
  const Clock::time_point limit = Clock::now() + kReapLimit;
  // A process inside the GPU driver takes its time to die; past the limit it is left to init.
  for (Backoff backoff; !how_it_ended() && Clock::now() < limit;) backoff.pause();
}

}  // namespace pkb
