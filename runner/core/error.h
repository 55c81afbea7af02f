// SPDX-License-Identifier: Apache-2.0
//
// Errors of the trusted side. A message says what was wrong, where, and what to do; programs print it on one line.
#pragma once

#include <stdexcept>
#include <string>

namespace pkb {

/// The user can mend it: an option, the catalogue, the launch, the machine. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The harness or its surroundings failed. Exit code 3.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A system call failed; the message ends with strerror.
class SystemError : public Error {
 public:
  SystemError(const std::string& what, int error_number);
};

enum ExitCode { kExitPassed = 0, kExitFailed = 1, kExitUsage = 2, kExitHarness = 3, kExitStopped = 4 };

}  // namespace pkb
