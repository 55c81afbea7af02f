// SPDX-License-Identifier: Apache-2.0
//
// The runtime's errors, by the numbers CUDA gives them, and the last error of each host thread.
#pragma once

#include <string>

namespace pkb::hostcuda {

enum class ErrorCode : int {
  success = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  invalid_symbol = 13,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_resource_handle = 400,
  not_ready = 600,
  peer_access_already_enabled = 704,
  launch_failure = 719,
  cooperative_launch_too_large = 720,
  not_supported = 801,
};

/// Remembers an error of this host thread until last_error takes it; `detail` says what was wrong. Returns the code.
ErrorCode set_error(ErrorCode code, std::string detail);

struct LastError {
  ErrorCode code = ErrorCode::success;
  std::string detail;
};
LastError peek_last_error();
LastError take_last_error();

}  // namespace pkb::hostcuda
