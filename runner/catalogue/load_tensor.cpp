// SPDX-License-Identifier: Apache-2.0
//
// Tensors of an entry: draws, shapes, scopes, tolerances.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "catalogue/load.h"

namespace pkb {

namespace {

struct DrawKind {
  const char* name;
  std::size_t fewest, most;  // arguments
};
constexpr DrawKind kDrawKinds[] = {{"normal", 2, 2},   {"uniform", 2, 2},     {"integers", 2, 2}, {"ternary", 1, 1},
                                   {"constant", 1, 1}, {"permutation", 1, 1}, {"custom", 0, 1}};

std::string trimmed(std::string_view text) {
  const std::size_t from = std::min(text.find_first_not_of(' '), text.size());
  return std::string(text.substr(from, text.find_last_not_of(' ') + 1 - from));
}

/// Splits at commas outside parentheses. An empty text has no arguments.
std::vector<Expression> split_arguments(std::string_view text, int line) {
  std::vector<Expression> arguments;
  if (trimmed(text).empty()) return arguments;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      arguments.push_back({trimmed(text.substr(from, i - from)), line});
      from = i + 1;
    } else if (text[i] == '(') {
      ++depth;
    } else if (text[i] == ')') {
      --depth;
    }
  }
  return arguments;
}

void parse_scope(const Fields& fields, TensorSpec& tensor) {
  const std::string scope = fields.text("scope", "per-rank");
  if (scope.starts_with("group ")) {
    tensor.scope = Scope::group;
    tensor.scope_group = trimmed(std::string_view(scope).substr(6));
  } else {
    fields.require_known(fields.line("scope"), "scope", scope, {"per-rank", "replicated", "slice", "group NAME"});
    if (scope == "replicated") tensor.scope = Scope::replicated;
    if (scope == "slice") tensor.scope = Scope::slice;
  }
  if (fields.has("slice_axis") != (tensor.scope == Scope::slice)) {
    fields.place().fail(fields.line("scope"), "`scope: slice` and `slice_axis` belong together");
  }
  if (tensor.scope != Scope::slice) return;
  const int64_t axis = fields.integer("slice_axis");
  if (axis < 0 || axis >= static_cast<int64_t>(tensor.shape.size())) {
    fields.place().fail(fields.line("slice_axis"), fmt::format("there is no axis {}", axis));
  }
  tensor.slice_axis = static_cast<int>(axis);
}

void parse_layout(const Fields& fields, TensorSpec& tensor) {
  if (!fields.has("layout")) return;
  const int line = fields.line("layout");
  for (const YAML::Node& axis : fields.elements("layout")) {
    tensor.layout.push_back(static_cast<int>(integer_of(axis, fields.place(), "layout")));
  }
  std::vector<int> axes(tensor.layout.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (!std::is_permutation(axes.begin(), axes.end(), tensor.layout.begin())) {
    fields.place().fail(line, "`layout` names every axis once, outermost in memory first");
  }
  const auto fits = [&](const auto& shape) { return shape.size() == axes.size(); };
  if (!fits(tensor.shape) || !std::all_of(tensor.shape_when.begin(), tensor.shape_when.end(),
                                          [&](const auto& alternative) { return fits(alternative.second); })) {
    fields.place().fail(line, fmt::format("`layout` has {} axes, the shape another number", axes.size()));
  }
  if (fields.flag("dynamic") || fields.has("slice_axis")) {
    fields.place().fail(line, "`layout` goes with neither `dynamic` nor `scope: slice`");
  }
}

void parse_shape(const Fields& fields, TensorSpec& tensor) {
  constexpr std::size_t kMaxAxes = 8;  // PKB_MAX_NDIM of the candidate ABI
  const auto parse = [&](const YAML::Node& node) {
    auto shape = expressions_of(node, fields.place(), "shape");
    if (shape.size() > kMaxAxes) fields.place().fail(line_of(node), "a tensor has 8 axes at most");
    return shape;
  };
  tensor.shape = parse(fields.at("shape"));
  for (const Entry& entry : fields.entries("shape_when")) {
    tensor.shape_when.push_back({{entry.key, entry.line}, parse(entry.value)});
  }
  parse_layout(fields, tensor);
  tensor.count = fields.expression("count");
  tensor.present = fields.expression("present");
  tensor.capacity = fields.expression("capacity");
  tensor.dynamic = fields.flag("dynamic");
}

Dtype parse_dtype(const Fields& fields) {
  const std::string name = fields.text("dtype");
  const auto dtype = dtype_named(name);
  if (dtype) return *dtype;
  const std::vector<std::string> valid = {"bf16", "fp16", "fp32", "fp64", "fp8_e4m3",
                                          "i32",  "i64",  "u8",   "bool", "complex64"};
  fields.place().fail(fields.line("dtype"), unknown_text("dtype", name, valid));
}

bool parse_host(const Fields& fields) {
  const std::string place = fields.text("place", "device");
  fields.require_known(fields.line("place"), "place", place, {"device", "host"});
  return place == "host";
}

}  // namespace

std::string label(std::string_view what, const YAML::Node& node, const char* key) {
  const YAML::Node name = node.IsMap() ? node[key] : YAML::Node();
  return name && name.IsScalar() ? fmt::format("{} {}", what, name.Scalar()) : std::string(what);
}

DrawSpec parse_draw(const YAML::Node& node, const Place& place) {
  const std::string text = text_of(node, place, "draw");
  const int line = line_of(node);
  const std::size_t open = std::min(text.find('('), text.size());
  DrawSpec draw{trimmed(std::string_view(text).substr(0, open)), {}, line};
  if (open < text.size()) {
    if (text.back() != ')') place.fail(line, fmt::format("draw \"{}\" has no closing parenthesis", text));
    draw.arguments = split_arguments(std::string_view(text).substr(open + 1, text.size() - open - 2), line);
  }
  std::vector<std::string> valid;
  for (const DrawKind& kind : kDrawKinds) valid.emplace_back(kind.name);
  const auto known = std::find(valid.begin(), valid.end(), draw.kind);
  if (known == valid.end()) place.fail(line, unknown_text("draw", draw.kind, valid));
  const DrawKind& kind = kDrawKinds[known - valid.begin()];
  if (draw.arguments.size() < kind.fewest || draw.arguments.size() > kind.most) {
    place.fail(line, fmt::format("draw {} takes {} argument{}, not {}", draw.kind, kind.most, kind.most == 1 ? "" : "s",
                                 draw.arguments.size()));
  }
  for (const Expression& argument : draw.arguments) {
    if (argument.empty()) place.fail(line, fmt::format("draw \"{}\" has an empty argument", text));
  }
  return draw;
}

ToleranceSpec parse_tolerance(const Fields& fields) {
  ToleranceSpec tolerance;
  if (fields.has("atol") && fields.has("atol_rms")) {
    fields.place().fail(fields.line("atol_rms"), "`atol` and `atol_rms` exclude each other");
  }
  tolerance.atol_in_rms = fields.has("atol_rms");
  tolerance.atol = fields.expression(tolerance.atol_in_rms ? "atol_rms" : "atol");
  tolerance.rtol = fields.expression("rtol");
  tolerance.frobenius = fields.expression("frobenius");
  return tolerance;
}

TensorSpec parse_input(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("input", node)),
                      {"name", "dtype", "shape", "shape_when", "layout", "count", "present", "draw", "scope",
                       "slice_axis", "place", "constant", "dynamic", "capacity"});
  TensorSpec tensor;
  tensor.line = fields.line();
  tensor.name = fields.text("name");
  tensor.dtype = parse_dtype(fields);
  parse_shape(fields, tensor);
  tensor.draw = parse_draw(fields.at("draw"), fields.place());
  parse_scope(fields, tensor);
  tensor.host = parse_host(fields);
  tensor.constant = fields.flag("constant");
  if (tensor.dynamic && (tensor.draw.kind != "custom" || tensor.capacity.empty())) {
    fields.place().fail(fields.line("dynamic"), "an input with `dynamic` needs `draw: custom` and a `capacity`");
  }
  return tensor;
}

TensorSpec parse_output(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("output", node)),
                      {"name", "dtype", "shape", "shape_when", "layout", "count", "present", "place", "dynamic",
                       "capacity", "atol", "atol_rms", "rtol", "frobenius", "compare", "agree", "agree_group"});
  TensorSpec tensor;
  tensor.line = fields.line();
  tensor.name = fields.text("name");
  tensor.dtype = parse_dtype(fields);
  parse_shape(fields, tensor);
  tensor.host = parse_host(fields);
  tensor.tolerance = parse_tolerance(fields);
  if (fields.has("compare")) {
    fields.require_known(fields.line("compare"), "comparison", fields.text("compare"), {"check"});
    tensor.left_to_check = true;
    if (!tensor.tolerance.atol.empty() || !tensor.tolerance.rtol.empty() || !tensor.tolerance.frobenius.empty()) {
      fields.place().fail(fields.line("compare"), "`compare: check` has no tolerance: the reference's check judges");
    }
  }
  tensor.agree = fields.text("agree", "");
  tensor.agree_group = fields.text("agree_group", "");
  if (!tensor.agree.empty()) fields.require_known(fields.line("agree"), "agreement", tensor.agree, {"bitwise"});
  if (tensor.agree.empty() && !tensor.agree_group.empty()) {
    fields.place().fail(fields.line("agree_group"), "`agree_group` needs `agree: bitwise`");
  }
  if (tensor.dynamic && tensor.shape.empty())
    fields.place().fail(fields.line("dynamic"), "a rank-0 tensor has no rows");
  return tensor;
}

}  // namespace pkb
