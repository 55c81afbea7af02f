// SPDX-License-Identifier: Apache-2.0
//
// Reading YAML so that nothing goes unnoticed: every key is known, there once and of the right type, and every error
// has a line.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalogue/problem.h"

namespace pkb {

/// Where in the file an error is: "problems.yaml:LINE: problem 13: input A: ".
class Place {
 public:
  explicit Place(std::string file, std::string context = {}) : file_(std::move(file)), context_(std::move(context)) {}
  Place inside(std::string_view context) const;                   ///< the same place, one level deeper
  [[noreturn]] void fail(int line, std::string_view text) const;  ///< throws UsageError

 private:
  std::string file_;
  std::string context_;
};

int line_of(const YAML::Node& node);  ///< from 1

/// One `key: value` of a map.
struct Entry {
  std::string key;
  YAML::Node value;
  int line = 0;
};

/// The entries of a map with free keys, in file order. Fails unless `node` is a map whose keys are there once.
std::vector<Entry> entries_of(const YAML::Node& node, const Place& place, std::string_view what);
/// The elements of a list. Fails unless `node` is one.
std::vector<YAML::Node> elements_of(const YAML::Node& node, const Place& place, std::string_view what);

// A single value of the type named, or a failure that says what stands there instead.
std::string text_of(const YAML::Node& node, const Place& place, std::string_view what);
double number_of(const YAML::Node& node, const Place& place, std::string_view what);
int64_t integer_of(const YAML::Node& node, const Place& place, std::string_view what);
bool flag_of(const YAML::Node& node, const Place& place, std::string_view what);
Expression expression_of(const YAML::Node& node, const Place& place, std::string_view what);
std::vector<Expression> expressions_of(const YAML::Node& node, const Place& place, std::string_view what);
std::vector<std::string> texts_of(const YAML::Node& node, const Place& place, std::string_view what);

/// A map with a fixed set of keys. `place` should already say what the map is about. Getters without a default fail
/// when the key is missing.
class Fields {
 public:
  Fields(const YAML::Node& node, Place place, const std::vector<std::string>& known);

  const Place& place() const { return place_; }
  int line() const { return line_; }
  const std::vector<Entry>& entries() const { return entries_; }
  int line(std::string_view key) const;  ///< of the key; of the map when it is missing
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const YAML::Node& at(std::string_view key) const;

  std::string text(std::string_view key) const { return text_of(at(key), place_, key); }
  std::string text(std::string_view key, std::string_view otherwise) const;
  double number(std::string_view key) const { return number_of(at(key), place_, key); }
  int64_t integer(std::string_view key) const { return integer_of(at(key), place_, key); }
  bool flag(std::string_view key) const { return has(key) && flag_of(at(key), place_, key); }
  Expression expression(std::string_view key) const;  ///< empty when the key is missing
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<Entry> entries(std::string_view key) const;        ///< none when the key is missing
  std::vector<YAML::Node> elements(std::string_view key) const;  ///< none when the key is missing

  /// Fails with "unknown `what` `word`, did you mean ..." unless the word is one of these.
  void require_known(int line, std::string_view what, const std::string& word,
                     const std::vector<std::string>& valid) const;

 private:
  const Entry* find(std::string_view key) const;
  Place place_;
  std::vector<Entry> entries_;
  int line_ = 0;
};

/// "unknown suite tq, did you mean tp?" or, when nothing is near, "unknown suite tq (collective, tp)".
std::string unknown_text(std::string_view what, const std::string& word, const std::vector<std::string>& valid);

}  // namespace pkb
