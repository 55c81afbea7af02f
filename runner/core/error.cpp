// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <system_error>

namespace pkb {

SystemError::SystemError(const std::string& what, int error_number)
    : Error(what + ": " + std::generic_category().message(error_number)) {}

}  // namespace pkb
