// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "errors.h"

namespace pkb::hostcuda {

const char* error_name(int code);
const char* error_description(int code);
/// "cudaErrorInvalidValue (invalid argument)"
std::string error_text(ErrorCode code);

}  // namespace pkb::hostcuda
