// SPDX-License-Identifier: Apache-2.0
//
// MPI: who is here, and agreement between the ranks of a team. Nothing blocks in MPI: every call is started
// non-blocking and polled with short sleeps, so that a rank can watch its worker meanwhile.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pkb {

using Clock = std::chrono::steady_clock;

/// Makes this process's memory unreadable for other processes of the same user, its workers among them (root excepted:
/// workers give up what lets root read it). Call first in main. MPI's single-copy transports read a peer's memory, so
/// MpiSession turns them off.
void make_undumpable();

/// Ends the whole job at once with this exit code; print the reason first. Without MPI, or alone, just exits.
[[noreturn]] void abort_job(int code);

/// MPI_Init_thread ... MPI_Finalize. Refuses singletons: a launcher's environment that speaks of more ranks than MPI
/// does (SLURM_NTASKS in a step, OMPI_COMM_WORLD_SIZE, PMI_SIZE, PMIX) throws UsageError with the fix.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  /// Finalises. When an exception is passing through a multi-rank job it aborts the job with exit code 3 instead,
  /// before anyone can print the exception: catch inside, print, abort_job.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// What a finalisation that hangs (10 s) exits with; 0 at first.
  void set_exit_code(int code) { exit_code_ = code; }

 private:
  int exit_code_ = 0;
  int uncaught_ = 0;
};

/// Where a rank is. Gathered once, at start.
struct RankPlace {
  int rank = 0;
  int node = 0;  ///< index of its node (ranks that share memory, and boot id)
  int local_rank = 0;
  int local_size = 0;
  std::string host;
};

class AlarmBell;

/// The ranks that work on one problem together. One thread, the one that initialised MPI, makes all calls.
class Team {
 public:
  explicit Team(MPI_Comm communicator);  ///< collective; duplicates it
  ~Team();                               ///< collective, unless an exception is passing through
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_root() const { return rank_ == 0; }
  MPI_Comm communicator() const { return communicator_; }
  const std::vector<RankPlace>& places() const { return places_; }
  const RankPlace& place() const { return places_[static_cast<std::size_t>(rank_)]; }

  // Collective over the team, in the same order on all ranks. More than 2^31 bytes in all: Error on every rank.
  std::vector<std::string> all_gather(std::string_view contribution);
  std::string broadcast(std::string_view from_root);
  void barrier();
  bool all(bool mine);
  std::vector<std::vector<double>> all_gather(std::span<const double> contribution);  ///< lengths may differ
  double maximum(double mine);                                                        ///< NaN when any rank's is

  /// A failure here that others should not wait for: wakes every rank that polls `alarm`. `evaluation` tells late
  /// alarms apart.
  void raise_alarm(uint64_t evaluation);
  bool alarm(uint64_t evaluation);  ///< has another rank raised it?

 private:
  void find_places();
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int uncaught_ = 0;
  std::vector<RankPlace> places_;
  std::unique_ptr<AlarmBell> bell_;
};

/// Watches the trusted side: when a step takes longer than its deadline the job ends with exit code 3 and `what` on
/// standard error (a reference that deadlocks cannot be interrupted). One object a process; steps do not nest.
class Watchdog {
 public:
  Watchdog();
  ~Watchdog();
  class Step {
   public:
    Step(Watchdog& watchdog, std::string what, std::chrono::duration<double> limit);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pkb
