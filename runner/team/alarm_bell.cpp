// SPDX-License-Identifier: Apache-2.0
#include "team/alarm_bell.h"

#include <algorithm>

#include "team/polling.h"

namespace pkb {

AlarmBell::AlarmBell(MPI_Comm team) {
  MPI_Comm_dup(team, &communicator_);
  MPI_Recv_init(&arrived_, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 0, communicator_, &posted_);
  MPI_Start(&posted_);
}

AlarmBell::~AlarmBell() {
  MPI_Cancel(&posted_);
  MPI_Wait(&posted_, MPI_STATUS_IGNORE);
  MPI_Request_free(&posted_);
  MPI_Comm_free(&communicator_);
}

void AlarmBell::ring(uint64_t evaluation) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator_, &rank);
  MPI_Comm_size(communicator_, &size);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    Message& message = sending_.emplace_back();
    message.evaluation = evaluation;
    MPI_Isend(&message.evaluation, 1, MPI_UINT64_T, peer, 0, communicator_, &message.request);
  }
  ++sent_;
}

bool AlarmBell::heard(uint64_t evaluation) {
  receive();
  return newest_ == evaluation;
}

void AlarmBell::receive() {
  forget_sent();
  int arrived = 0;
  while (MPI_Test(&posted_, &arrived, MPI_STATUS_IGNORE), arrived) {
    ++received_;
    newest_ = std::max(newest_, arrived_);
    MPI_Start(&posted_);
  }
}

void AlarmBell::forget_sent() {
  sending_.remove_if([](Message& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

void AlarmBell::settle() {
  int rung_by_all = 0;
  MPI_Request sum = MPI_REQUEST_NULL;
  MPI_Iallreduce(&sent_, &rung_by_all, 1, MPI_INT, MPI_SUM, communicator_, &sum);
  wait_for(sum);
  for (Backoff backoff; received_ < rung_by_all - sent_ || !sending_.empty(); backoff.pause()) receive();
}

}  // namespace pkb
