// SPDX-License-Identifier: Apache-2.0
//
// Accessors of pkb::Inputs. They live in a shared library of their own, which the runner and every reference.so link.
#include <cmath>
#include <string>

#include "core/error.h"
#include "pkb/reference.h"

namespace pkb {
namespace {

template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

template <class Map>
const typename Map::mapped_type& find(const Map& map, std::string_view name, const char* what) {
  const auto found = map.find(name);
  if (found == map.end()) {
    throw Error("the reference asks for " + std::string(what) + " \"" + std::string(name) +
                "\", but the catalogue declares " + names_of(map));
  }
  return found->second;
}

const char* kind_of(const Value& value) {
  static constexpr const char* kKinds[] = {"absent on this rank", "a tensor", "a list of tensors"};
  return kKinds[value.index()];
}

const char* kind_of(const Scalar& scalar) {
  static constexpr const char* kKinds[] = {"null",     "an integer",         "a float",       "a boolean",
                                           "a string", "a list of integers", "a group's name"};
  return kKinds[scalar.index()];
}

[[noreturn]] void wrong_kind(const char* what, std::string_view name, const char* is, const char* wanted) {
  throw Error("the reference takes " + std::string(what) + " \"" + std::string(name) + "\" as " + wanted +
              ", but it is " + is);
}

template <class T>
const T& take(const std::map<std::string, Scalar, std::less<>>& scalars, std::string_view name, const char* wanted) {
  const Scalar& scalar = find(scalars, name, "scalar");
  if (const T* value = std::get_if<T>(&scalar)) return *value;
  wrong_kind("scalar", name, kind_of(scalar), wanted);
}

}  // namespace

const at::Tensor& Inputs::operator[](std::string_view name) const {
  const Value& value = find(tensors, name, "input");
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) return *tensor;
  wrong_kind("input", name, kind_of(value), "a tensor");
}

std::optional<at::Tensor> Inputs::optional(std::string_view name) const {
  const Value& value = find(tensors, name, "input");
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) return *tensor;
  wrong_kind("input", name, kind_of(value), "an optional tensor");
}

const std::vector<at::Tensor>& Inputs::list(std::string_view name) const {
  const Value& value = find(tensors, name, "input");
  if (const auto* list = std::get_if<std::vector<at::Tensor>>(&value)) return *list;
  wrong_kind("input", name, kind_of(value), "a list of tensors");
}

int64_t Inputs::param(std::string_view name) const {
  const double value = find(params, name, "parameter");
  if (std::nearbyint(value) != value) wrong_kind("parameter", name, std::to_string(value).c_str(), "a whole number");
  return static_cast<int64_t>(value);
}

double Inputs::real_param(std::string_view name) const {
  return find(params, name, "parameter");
}

int64_t Inputs::integer(std::string_view name) const {
  return take<int64_t>(scalars, name, "an integer");
}

double Inputs::real(std::string_view name) const {
  const Scalar& scalar = find(scalars, name, "scalar");
  if (const auto* integer = std::get_if<int64_t>(&scalar)) return static_cast<double>(*integer);
  return take<double>(scalars, name, "a float");
}

bool Inputs::boolean(std::string_view name) const {
  return take<bool>(scalars, name, "a boolean");
}

const std::string& Inputs::string(std::string_view name) const {
  const Scalar& scalar = find(scalars, name, "scalar");
  if (const auto* group = std::get_if<GroupName>(&scalar)) return group->name;
  return take<std::string>(scalars, name, "a string or a group's name");
}

const IntegerList& Inputs::integers(std::string_view name) const {
  return take<IntegerList>(scalars, name, "a list of integers");
}

bool Inputs::is_null(std::string_view name) const {
  return std::holds_alternative<std::monostate>(find(scalars, name, "scalar"));
}

bool Inputs::has_scalar(std::string_view name) const {
  return scalars.find(name) != scalars.end();
}

}  // namespace pkb
