// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pkb {

/// What a worker does before anything else, `socket` being its end of the socket pair:
/// it dies with its rank; it has nothing open but the socket and the standard streams; it gives up, for good, what
/// would let root read the rank's memory; no other process may read its own; it leaves no core dumps; it may use all
/// CPUs of its cgroup (launchers bind a rank, and so its children, to one); its standard output is written line by
/// line, so that a crash loses nothing. Throws UsageError when `socket` is none: a worker is no command for people.
void harden(int socket);

}  // namespace pkb
