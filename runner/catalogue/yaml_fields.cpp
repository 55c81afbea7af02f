// SPDX-License-Identifier: Apache-2.0
#include "catalogue/yaml_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "catalogue/catalogue.h"
#include "core/error.h"

namespace pkb {

namespace {

std::string_view kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsScalar()) return "a single value";
  return "nothing";
}

[[noreturn]] void fail_kind(const YAML::Node& node, const Place& place, std::string_view what,
                            std::string_view wanted) {
  place.fail(line_of(node), fmt::format("`{}` must be {}, not {}", what, wanted, kind_of(node)));
}

template <typename T>
T converted(const YAML::Node& node, const Place& place, std::string_view what, std::string_view wanted) {
  if (!node.IsScalar()) fail_kind(node, place, what, wanted);
  try {
    return node.as<T>();
  } catch (const YAML::BadConversion&) {
    place.fail(line_of(node), fmt::format("`{}` must be {}, not \"{}\"", what, wanted, node.Scalar()));
  }
}

}  // namespace

Place Place::inside(std::string_view context) const {
  return Place(file_, context_.empty() ? std::string(context) : fmt::format("{}: {}", context_, context));
}

void Place::fail(int line, std::string_view text) const {
  throw UsageError(fmt::format("{}:{}: {}{}{}", file_, line, context_, context_.empty() ? "" : ": ", text));
}

int line_of(const YAML::Node& node) {
  return node.Mark().line + 1;
}

std::vector<Entry> entries_of(const YAML::Node& node, const Place& place, std::string_view what) {
  if (!node.IsMap()) fail_kind(node, place, what, "a map");
  std::vector<Entry> entries;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar()) place.fail(line_of(pair.first), fmt::format("`{}`: a key must be a word", what));
    const std::string key = pair.first.Scalar();
    if (!seen.insert(key).second) place.fail(line_of(pair.first), fmt::format("`{}` stands there twice", key));
    entries.push_back({key, pair.second, line_of(pair.first)});
  }
  return entries;
}

std::vector<YAML::Node> elements_of(const YAML::Node& node, const Place& place, std::string_view what) {
  if (!node.IsSequence()) fail_kind(node, place, what, "a list");
  return {node.begin(), node.end()};
}

std::string text_of(const YAML::Node& node, const Place& place, std::string_view what) {
  if (!node.IsScalar() || node.Scalar().empty()) fail_kind(node, place, what, "a text");
  return node.Scalar();
}

double number_of(const YAML::Node& node, const Place& place, std::string_view what) {
  const auto value = converted<double>(node, place, what, "a number");
  if (!std::isfinite(value)) place.fail(line_of(node), fmt::format("`{}` must be finite", what));
  return value;
}

int64_t integer_of(const YAML::Node& node, const Place& place, std::string_view what) {
  return converted<int64_t>(node, place, what, "a whole number");
}

bool flag_of(const YAML::Node& node, const Place& place, std::string_view what) {
  return converted<bool>(node, place, what, "true or false");
}

Expression expression_of(const YAML::Node& node, const Place& place, std::string_view what) {
  if (!node.IsScalar() || node.Scalar().empty()) fail_kind(node, place, what, "an expression");
  return {node.Scalar(), line_of(node)};
}

std::vector<Expression> expressions_of(const YAML::Node& node, const Place& place, std::string_view what) {
  std::vector<Expression> expressions;
  for (const YAML::Node& element : elements_of(node, place, what)) {
    expressions.push_back(expression_of(element, place, what));
  }
  return expressions;
}

std::vector<std::string> texts_of(const YAML::Node& node, const Place& place, std::string_view what) {
  std::vector<std::string> texts;
  for (const YAML::Node& element : elements_of(node, place, what)) {
    texts.push_back(text_of(element, place, what));
    if (std::count(texts.begin(), texts.end(), texts.back()) > 1) {
      place.fail(line_of(element), fmt::format("`{}` lists {} twice", what, texts.back()));
    }
  }
  return texts;
}

Fields::Fields(const YAML::Node& node, Place place, const std::vector<std::string>& known)
    : place_(std::move(place)), line_(line_of(node)) {
  if (!node.IsMap()) place_.fail(line_, fmt::format("must be a map, not {}", kind_of(node)));
  entries_ = entries_of(node, place_, "this");
  for (const Entry& entry : entries_) require_known(entry.line, "key", entry.key, known);
}

int Fields::line(std::string_view key) const {
  const Entry* entry = find(key);
  return entry ? entry->line : line_;
}

const YAML::Node& Fields::at(std::string_view key) const {
  const Entry* entry = find(key);
  if (!entry) place_.fail(line_, fmt::format("`{}` is missing", key));
  return entry->value;
}

std::string Fields::text(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : std::string(otherwise);
}

Expression Fields::expression(std::string_view key) const {
  return has(key) ? expression_of(at(key), place_, key) : Expression{};
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  return has(key) ? texts_of(at(key), place_, key) : std::vector<std::string>{};
}

std::vector<Entry> Fields::entries(std::string_view key) const {
  return has(key) ? entries_of(at(key), place_, key) : std::vector<Entry>{};
}

std::vector<YAML::Node> Fields::elements(std::string_view key) const {
  return has(key) ? elements_of(at(key), place_, key) : std::vector<YAML::Node>{};
}

void Fields::require_known(int line, std::string_view what, const std::string& word,
                           const std::vector<std::string>& valid) const {
  if (std::find(valid.begin(), valid.end(), word) != valid.end()) return;
  place_.fail(line, unknown_text(what, word, valid));
}

const Entry* Fields::find(std::string_view key) const {
  const auto same = [key](const Entry& entry) { return entry.key == key; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), same);
  return found == entries_.end() ? nullptr : &*found;
}

std::string unknown_text(std::string_view what, const std::string& word, const std::vector<std::string>& valid) {
  const std::string suggestion = nearest(word, valid);
  if (!suggestion.empty()) return fmt::format("unknown {} {}, did you mean {}?", what, word, suggestion);
  return fmt::format("unknown {} {} ({})", what, word, fmt::join(valid, ", "));
}

}  // namespace pkb
