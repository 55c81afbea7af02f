// SPDX-License-Identifier: Apache-2.0
//
// How many draws the memory holds.
#pragma once

#include "catalogue/problem.h"
#include "evaluate/job.h"

namespace pkb {

/// Collective. Bytes of device memory that every rank may take now: what is free where least is, in equal parts for
/// ranks that share it.
double free_bytes_of_rank(Job& job);

/// Of one draw: it stands in the worker's slab and, its inputs, in the reference's memory.
double bytes_of_draw(const Instance& instance);
/// Of the inputs that all draws share, likewise.
double bytes_shared_by_draws(const Instance& instance);

/// Calls of a burst on as many draws: kBurst, or fewer of a giant, so that job.free_bytes holds them.
constexpr int kBurst = 3;
int burst_that_fits(const Job& job, const Instance& instance);

}  // namespace pkb
