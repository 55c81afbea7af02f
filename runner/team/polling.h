// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "team/team.h"

namespace pkb {

/// How to wait for something without taking a core from those who work: a few looks at once, then sleeps that grow from
/// 20 to 200 us.
class Backoff {
 public:
  void pause();

 private:
  int looks_ = 0;
  int sleep_us_ = 20;
};

/// Polls a request until it is done. Every blocking step of this room is a non-blocking call and this.
void wait_for(MPI_Request& request);

}  // namespace pkb
