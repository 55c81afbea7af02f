// SPDX-License-Identifier: Apache-2.0
#include "worker/fields.h"

#include <cmath>
#include <limits>

#include "core/error.h"

namespace pkb::protocol {
namespace {

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

const Json& typed(const Json& json, std::string_view name, bool (*is_type)(const Json&), const char* type) {
  const Json& value = field(json, name);
  if (!is_type(value)) refuse(quoted(name) + " is " + value.type_name() + ", not " + type);
  return value;
}

int64_t as_integer(const Json& value, std::string_view name) {
  if (!value.is_number_integer()) refuse(quoted(name) + " is " + value.type_name() + ", not an integer");
  if (value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max()) {
    refuse(quoted(name) + " is out of range");
  }
  return value.get<int64_t>();
}

double as_number(const Json& value, std::string_view name) {
  if (!value.is_number()) refuse(quoted(name) + " is " + value.type_name() + ", not a number");
  const double number = value.get<double>();
  if (!std::isfinite(number)) refuse(quoted(name) + " is not finite");
  return number;
}

}  // namespace

void refuse(const std::string& what) {
  throw Error("malformed message: " + what);
}

const Json& field(const Json& json, std::string_view name) {
  if (!json.is_object()) refuse("a map with " + quoted(name) + " is expected");
  const auto found = json.find(name);
  if (found == json.end()) refuse(quoted(name) + " is missing");
  return *found;
}

int64_t integer_field(const Json& json, std::string_view name, int64_t lowest, int64_t highest) {
  const int64_t value = as_integer(field(json, name), name);
  if (value < lowest || value > highest) refuse(quoted(name) + " is out of range");
  return value;
}

double number_field(const Json& json, std::string_view name) {
  return as_number(field(json, name), name);
}

bool boolean_field(const Json& json, std::string_view name) {
  return typed(
             json, name, [](const Json& value) { return value.is_boolean(); }, "a boolean")
      .get<bool>();
}

const std::string& string_field(const Json& json, std::string_view name) {
  return typed(
             json, name, [](const Json& value) { return value.is_string(); }, "a string")
      .get_ref<const std::string&>();
}

const Json& array_field(const Json& json, std::string_view name, std::size_t longest) {
  const Json& value = typed(
      json, name, [](const Json& any) { return any.is_array(); }, "an array");
  if (value.size() > longest) refuse(quoted(name) + " has too many entries");
  return value;
}

std::vector<int64_t> integers_field(const Json& json, std::string_view name, std::size_t longest) {
  std::vector<int64_t> values;
  for (const Json& value : array_field(json, name, longest)) values.push_back(as_integer(value, name));
  return values;
}

std::vector<double> numbers_field(const Json& json, std::string_view name, std::size_t longest) {
  std::vector<double> values;
  for (const Json& value : array_field(json, name, longest)) values.push_back(as_number(value, name));
  return values;
}

}  // namespace pkb::protocol
