// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pkb {

/// May a worker see this variable? Not the launcher's and MPI's (a candidate that finds them could join the job), not
/// what looks like a secret, and not the seed.
bool is_for_workers(std::string_view name);

/// The environment of a worker, as NAME=value: what it may see of this process's, and eager loading of CUDA modules, so
/// that no timed call pays for it.
std::vector<std::string> worker_environment(const char* const* environment);

}  // namespace pkb
