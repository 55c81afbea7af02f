// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>

namespace pkb {

/// Alarms between the ranks of a team: a number sent to every other rank, heard by looking. They travel on a
/// communicator of their own, so that they never meet the team's collectives, and one receive is always posted.
class AlarmBell {
 public:
  explicit AlarmBell(MPI_Comm team);  ///< collective
  ~AlarmBell();
  AlarmBell(const AlarmBell&) = delete;
  AlarmBell& operator=(const AlarmBell&) = delete;

  void ring(uint64_t evaluation);
  /// Has another rank rung for this evaluation? Alarms for earlier ones came late and mean nothing any more.
  bool heard(uint64_t evaluation);

  /// Collective: waits until every alarm that was sent has been received, so that nothing is in flight when the
  /// communicator goes.
  void settle();

 private:
  struct Message {
    uint64_t evaluation = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void receive();
  void forget_sent();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Request posted_ = MPI_REQUEST_NULL;  ///< persistent, writes arrived_
  uint64_t arrived_ = 0;
  uint64_t newest_ = 0;
  int received_ = 0, sent_ = 0;
  std::list<Message> sending_;  ///< addresses stay until the send is done
};

}  // namespace pkb
