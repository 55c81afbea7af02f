// SPDX-License-Identifier: Apache-2.0
//
// The candidate's side of one evaluation: a worker session with a slab of draws, set up for one parameter set.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/job.h"
#include "evaluate/slab.h"
#include "evaluate/verdict.h"

namespace pkb {

/// All calls are collective and throw EvaluationEnded when the candidate fails on any rank.
class Contestant {
 public:
  Contestant(Job& job, WorkerPool& pool, const Instance& instance, const std::filesystem::path& module,
             uint64_t evaluation);
  ~Contestant();
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;

  /// Allocates a slab of `slots` draws and calls the candidate's setup. Ends an earlier set-up first.
  void set_up(const Instance& instance, int slots);
  void tear_down();
  int slots() const { return slab_ ? slab_->layout().slots() : 0; }
  Slab& slab() { return *slab_; }
  double setup_us() const { return setup_us_; }

  /// Makes the reference's slots the candidate's: inputs written, outputs poisoned, arguments bound.
  void load_draws(const Instance& instance);
  void run(const std::vector<int32_t>& draws, const std::vector<int64_t>& delays_ns);
  /// Of the reply, wall_us and threads_after - threads_before are this rank's own findings and no word of the worker's:
  /// the time from the alignment to the reply, in proportion where calls led into the loop.
  protocol::TimeReply time(const protocol::TimeRequest& request);
  /// What one call took when last timed; raises the deadlines of long calls.
  void set_expected_call(std::chrono::duration<double> call) { expected_call_ = call; }
  bool alive() const { return session_.alive(); }
  pid_t pid() const { return session_.pid(); }
  std::string log_tail() const { return session_.log_tail(); }

 private:
  std::chrono::duration<double> deadline(std::size_t calls) const;
  CallOutcome call(protocol::Type type, const protocol::Json& body, std::size_t calls = 1);
  Job& job_;
  Stream stream_;
  WorkerOptions options_;
  WorkerSession session_;
  std::unique_ptr<Slab> slab_;
  bool is_set_up_ = false;
  double setup_us_ = 0;
  std::chrono::duration<double> expected_call_{0};
};

}  // namespace pkb
