// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <utility>

namespace pkb::hostcuda {

namespace {

LastError& of_this_thread() {
  static thread_local LastError error;
  return error;
}

}  // namespace

ErrorCode set_error(ErrorCode code, std::string detail) {
  if (code != ErrorCode::success) of_this_thread() = {code, std::move(detail)};
  return code;
}

LastError peek_last_error() {
  return of_this_thread();
}

LastError take_last_error() {
  return std::exchange(of_this_thread(), {});
}

}  // namespace pkb::hostcuda
