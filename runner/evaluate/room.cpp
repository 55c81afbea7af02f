// SPDX-License-Identifier: Apache-2.0
#include "evaluate/room.h"

#include <algorithm>

#include "evaluate/slab.h"

namespace pkb {

double free_bytes_of_rank(Job& job) {
  const int sharing = job.device.kind() == DeviceKind::host ? job.team.place().local_size : job.ranks_per_gpu;
  return -job.team.maximum(-static_cast<double>(job.device.free_bytes()) / sharing);
}

double bytes_of_draw(const Instance& instance) {
  return 2.0 * static_cast<double>(SlabLayout(instance, 1).slot_bytes());
}

double bytes_shared_by_draws(const Instance& instance) {
  return 2.0 * static_cast<double>(SlabLayout(instance, 1).shared_bytes());
}

int burst_that_fits(const Job& job, const Instance& instance) {
  constexpr double kShare = 0.85;  // the rest is for expected outputs and what references need in between
  const double fitting = (kShare * job.free_bytes - bytes_shared_by_draws(instance)) / bytes_of_draw(instance);
  return std::clamp(static_cast<int>(std::min<double>(fitting, kBurst)), 1, kBurst);
}

}  // namespace pkb
