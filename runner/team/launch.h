// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pkb {

/// A variable of the environment, as the launcher left it.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Looks names up in the environment as it is now.
Lookup environment_snapshot();

/// Does the launcher speak of more ranks than MPI sees? Then each rank believes it is alone, and this is the message
/// with the fix; empty: all is well. `lookup` must show the environment from before MPI_Init, which may add to it.
std::string why_singleton(int mpi_size, const Lookup& lookup);

}  // namespace pkb
