// SPDX-License-Identifier: Apache-2.0
//
// Scalars of an entry: literals, expressions, lists, texts and names of groups.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "catalogue/expression.h"
#include "catalogue/load.h"

namespace pkb {

namespace {

bool is_plain(const YAML::Node& node) {
  return node.IsScalar() && node.Tag() != "!";
}

/// Flattens a list of expressions, nested to any depth as long as the parts of one level are equally long.
void flatten(const YAML::Node& node, const Place& place, std::size_t depth, ScalarSpec& scalar) {
  const auto size = static_cast<int64_t>(node.size());
  if (scalar.list_shape.size() == depth) scalar.list_shape.push_back(size);
  if (scalar.list_shape[depth] != size) {
    place.fail(line_of(node), fmt::format("scalar {}: parts of a nested list must be equally long", scalar.name));
  }
  for (const YAML::Node& element : node) {
    const bool is_leaf = scalar.list_shape.size() == depth + 1 && !scalar.elements.empty();
    if (element.IsSequence() ? is_leaf : scalar.list_shape.size() > depth + 1) {
      place.fail(line_of(element), fmt::format("scalar {}: lists and numbers side by side", scalar.name));
    }
    if (element.IsSequence()) {
      flatten(element, place, depth + 1, scalar);
    } else {
      scalar.elements.push_back(expression_of(element, place, scalar.name));
    }
  }
}

/// {float: D^-0.5}, {string: ortho} or {group: tp}.
void parse_tagged_scalar(const YAML::Node& node, const Place& place, ScalarSpec& scalar) {
  const Fields fields(node, place.inside("scalar " + scalar.name), {"float", "string", "group"});
  if (node.size() != 1) fields.place().fail(fields.line(), "one of `float`, `string`, `group`");
  if (fields.has("string")) scalar.literal = fields.text("string");
  if (fields.has("group")) scalar.literal = GroupName{fields.text("group")};
  scalar.expression = fields.expression("float");
  scalar.is_float = !scalar.expression.empty();
}

ScalarSpec parse_scalar(const Entry& entry, const Place& place) {
  ScalarSpec scalar;
  scalar.name = entry.key;
  scalar.line = entry.line;
  const YAML::Node& node = entry.value;
  if (node.IsNull()) return scalar;
  if (node.IsMap()) {
    parse_tagged_scalar(node, place, scalar);
  } else if (node.IsSequence()) {
    flatten(node, place, 0, scalar);
  } else if (is_plain(node) && (node.Scalar() == "true" || node.Scalar() == "false")) {
    scalar.literal = node.Scalar() == "true";
  } else {
    scalar.expression = expression_of(node, place, entry.key);
    scalar.is_float = is_float_literal(scalar.expression.text);
  }
  return scalar;
}

void find_per_draw(ScalarSpec& scalar, const Place& place) {
  Evaluator evaluator;
  std::vector<Expression> all = scalar.elements;
  if (!scalar.expression.empty()) all.push_back(scalar.expression);
  try {
    for (const Expression& expression : all) {
      const auto& names = evaluator.names(expression);
      scalar.per_draw |= std::find(names.begin(), names.end(), "draw") != names.end();
    }
  } catch (const ExpressionError& error) {
    place.fail(error.line(), fmt::format("scalar {}: {}", scalar.name, error.detail()));
  }
}

}  // namespace

bool is_float_literal(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && text.find_first_of(".eE") != std::string::npos;
}

std::vector<ScalarSpec> parse_scalars(const std::vector<Entry>& entries, const Place& place) {
  std::vector<ScalarSpec> scalars;
  for (const Entry& entry : entries) {
    scalars.push_back(parse_scalar(entry, place));
    find_per_draw(scalars.back(), place);
  }
  return scalars;
}

}  // namespace pkb
