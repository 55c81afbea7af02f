// SPDX-License-Identifier: Apache-2.0
//
// One evaluation's worker, seen from its rank: started, asked, watched, killed. A call is collective over the team:
// every rank sends the request to its own worker, serves what the worker asks of the team, and in the end all ranks
// agree on the outcome.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/problem.h"
#include "team/team.h"
#include "worker/protocol.h"

namespace pkb {

struct WorkerOptions {
  std::filesystem::path executable;  ///< pkb_worker, from the same build
  std::filesystem::path log;         ///< candidate's stdout and stderr of this rank
  DeviceKind device = DeviceKind::host;
  int ordinal = 0;
  int ranks_per_gpu = 1;
  bool multicast = false;
  std::string name_prefix;  ///< of shared-memory objects
};

/// A started process with nothing loaded. Costs nothing to have ready: start the next one while the current one works.
/// It dies with the thread that started it, so that must be one that lives as long as the rank.
class WorkerProcess {
 public:
  explicit WorkerProcess(const WorkerOptions& options);  ///< posix_spawn; throws SystemError
  ~WorkerProcess();                                      ///< kills and reaps
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  protocol::Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  /// Gone? How: "killed by signal 11 (Segmentation fault)", "exited with status 0". Does not wait.
  std::optional<std::string> how_it_ended();
  void kill();
  /// Holds the process and those it forked: nothing they could still do reaches memory until go_on(). Returns when it
  /// has stopped or ended, or after a second.
  void stop();
  void go_on();
  int threads() const;  ///< 0: it is gone

 private:
  pid_t pid_ = -1;
  protocol::Channel channel_;
  std::optional<std::string> ended_;
};

/// What became of one rank in a call.
struct RankOutcome {
  std::string status =
      "passed";  ///< or a status word: load/setup/runtime_error, crashed, timeout, diverged, harness_error
  std::string reason;
  bool consequence = false;  ///< stopped because another rank failed
  bool ok() const { return status == "passed"; }
};

struct CallOutcome {
  std::vector<RankOutcome> ranks;  ///< [team size], the same on every rank
  protocol::Json reply;            ///< this rank's worker's reply body, checked (protocol::check_reply)
  /// This rank's own clock around the worker's last uninterrupted stretch: from the request, or the answer to its last
  /// exchange, to the reply. In a `time` call the alignment is that exchange, so it encloses the timed loop and little
  /// else.
  double worker_us = 0;
  int new_threads = 0;  ///< that this rank's worker has more than before the call, as the kernel counts them
  bool ok() const;
  /// The first cause: crashes, then errors, timeouts, divergence, and at last consequences (a peer that waited for a
  /// dead one); among equals the lowest rank, which is stored in `rank`. Some passed outcome when all passed.
  const RankOutcome& cause(int* rank = nullptr) const;
};

class WorkerSession {
 public:
  /// `instance` gives rank, world and groups; every rank passes the same `evaluation` number, new for each session.
  WorkerSession(Team& team, std::unique_ptr<WorkerProcess> process, const WorkerOptions& options,
                const Instance& instance, uint64_t evaluation);
  ~WorkerSession();  ///< kills what still runs

  /// Collective. After a call that is not ok the worker is dead on every rank, and further calls return the same
  /// outcome. `begin` is sent by the first call of all; nobody needs to ask for it. `deadline` is what the worker may
  /// take for its own work; waiting for other ranks does not count. Nothing that a worker does throws. After
  /// `run` and `time` the worker is stopped until the next call, so that a thread of the candidate cannot finish work
  /// that was left undone.
  CallOutcome call(protocol::Type type, const protocol::Json& body, std::chrono::duration<double> deadline);
  bool alive() const { return !failure_.has_value(); }
  pid_t pid() const { return process_->pid(); }
  std::string log_tail(std::size_t bytes = 2048) const;  ///< of this rank's candidate

 private:
  class Call;
  CallOutcome perform(protocol::Type type, const protocol::Json& body, std::chrono::duration<double> deadline);
  protocol::Json begin_body() const;
  Team& team_;
  std::unique_ptr<WorkerProcess> process_;
  WorkerOptions options_;
  Instance instance_;
  uint64_t evaluation_ = 0;
  bool begun_ = false;
  std::optional<CallOutcome> failure_;
};

}  // namespace pkb
