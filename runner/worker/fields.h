// SPDX-License-Identifier: Apache-2.0
//
// Strict access to the fields of a message. Everything throws Error("malformed message: ...") that names the field: a
// field that is missing, of another type, or out of range. There are no conversions between types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/protocol.h"

namespace pkb::protocol {

const Json& field(const Json& json, std::string_view name);
int64_t integer_field(const Json& json, std::string_view name, int64_t lowest, int64_t highest);
double number_field(const Json& json, std::string_view name);  ///< finite
bool boolean_field(const Json& json, std::string_view name);
const std::string& string_field(const Json& json, std::string_view name);
std::vector<int64_t> integers_field(const Json& json, std::string_view name, std::size_t longest);
std::vector<double> numbers_field(const Json& json, std::string_view name, std::size_t longest);  ///< finite
const Json& array_field(const Json& json, std::string_view name, std::size_t longest);

[[noreturn]] void refuse(const std::string& what);  ///< throws Error("malformed message: what")

}  // namespace pkb::protocol
