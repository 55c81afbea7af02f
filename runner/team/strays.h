// SPDX-License-Identifier: Apache-2.0
//
// Processes that a candidate started, wherever they went.
#pragma once

#include <sys/types.h>

#include <vector>

namespace pkb {

/// Processes whose parents die become children of this one, not of init, from now on.
void adopt_orphans();

/// Kills all that descends from this process but `known` ones, and takes leave of the dead. How many still lived.
int kill_strays(const std::vector<pid_t>& known);

}  // namespace pkb
