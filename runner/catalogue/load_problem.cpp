// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "catalogue/expression.h"
#include "catalogue/load.h"
#include "catalogue/setting.h"

namespace pkb {

namespace {

using Named = std::pair<std::string, Expression>;

/// "input A", or "input" when there is no name to show.
std::string label(std::string_view what, const YAML::Node& node, const char* key = "name") {
  const YAML::Node name = node.IsMap() ? node[key] : YAML::Node();
  return name && name.IsScalar() ? fmt::format("{} {}", what, name.Scalar()) : std::string(what);
}

bool is_plain(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

std::vector<Named> parse_named(const std::vector<Entry>& entries, const Place& place) {
  std::vector<Named> result;
  for (const Entry& entry : entries) result.emplace_back(entry.key, expression_of(entry.value, place, entry.key));
  return result;
}

// ---- draws

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

// ---- tensors

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

TensorSpec parse_input(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("input", node)),
                      {"name", "dtype", "shape", "shape_when", "count", "present", "draw", "scope", "slice_axis", "place",
                       "constant", "dynamic", "capacity"});
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
                      {"name", "dtype", "shape", "shape_when", "count", "present", "place", "dynamic", "capacity", "atol",
                       "atol_rms", "rtol", "frobenius", "agree", "agree_group"});
  TensorSpec tensor;
  tensor.line = fields.line();
  tensor.name = fields.text("name");
  tensor.dtype = parse_dtype(fields);
  parse_shape(fields, tensor);
  tensor.host = parse_host(fields);
  tensor.tolerance = parse_tolerance(fields);
  tensor.agree = fields.text("agree", "");
  tensor.agree_group = fields.text("agree_group", "");
  if (!tensor.agree.empty()) fields.require_known(fields.line("agree"), "agreement", tensor.agree, {"bitwise"});
  if (tensor.agree.empty() && !tensor.agree_group.empty()) {
    fields.place().fail(fields.line("agree_group"), "`agree_group` needs `agree: bitwise`");
  }
  if (tensor.dynamic && tensor.shape.empty()) fields.place().fail(fields.line("dynamic"), "a rank-0 tensor has no rows");
  return tensor;
}

// ---- scalars

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
    const std::string& text = scalar.expression.text;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_literal = error == std::errc() && end == text.data() + text.size();
    scalar.is_float = is_literal && text.find_first_of(".eE") != std::string::npos;
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

std::vector<ScalarSpec> parse_scalars(const std::vector<Entry>& entries, const Place& place) {
  std::vector<ScalarSpec> scalars;
  for (const Entry& entry : entries) {
    scalars.push_back(parse_scalar(entry, place));
    find_per_draw(scalars.back(), place);
  }
  return scalars;
}

// ---- cases, phases and the rest

std::map<std::string, ToleranceSpec> parse_case_tolerances(const Fields& fields) {
  std::map<std::string, ToleranceSpec> tolerances;
  if (!fields.has("tolerance")) return tolerances;
  if (fields.at("tolerance").IsScalar()) {
    fields.require_known(fields.line("tolerance"), "tolerance", fields.text("tolerance"), {"exact"});
    tolerances["*"] = {};
    return tolerances;
  }
  for (const Entry& entry : fields.entries("tolerance")) {
    tolerances[entry.key] = parse_tolerance(Fields(entry.value, fields.place().inside("tolerance of " + entry.key),
                                                   {"atol", "atol_rms", "rtol", "frobenius"}));
  }
  return tolerances;
}

CaseSpec parse_case(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("case", node)),
                      {"name", "when", "params", "scalars", "draws", "tolerance", "why"});
  CaseSpec spec;
  spec.line = fields.line();
  spec.name = fields.text("name");
  spec.when = fields.expression("when");
  for (const Named& named : parse_named(fields.entries("params"), fields.place())) spec.params.insert(named);
  spec.scalars = parse_scalars(fields.entries("scalars"), fields.place());
  for (const Entry& entry : fields.entries("draws")) spec.draws[entry.key] = parse_draw(entry.value, fields.place());
  spec.tolerances = parse_case_tolerances(fields);
  spec.why = fields.text("why", "");
  return spec;
}

ControlSpec parse_control(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("control", node, "right")), {"right", "output", "case", "when", "why"});
  ControlSpec control;
  control.line = fields.line();
  control.control = fields.text("right");
  fields.require_known(fields.line("right"), "control", control.control,
                       {"zeros", "ones", "constant", "nan", "input", "stale", "mute", "partial", "one_off"});
  control.output = fields.text("output");
  control.case_name = fields.text("case", "");
  control.when = fields.expression("when");
  control.why = fields.text("why");
  return control;
}

PhaseSpec parse_phase(const YAML::Node& node, const Place& problem) {
  const Fields fields(node, problem.inside(label("phase", node)),
                      {"name", "flops", "precision", "mem", "comm", "comm_nvls", "axis", "why"});
  PhaseSpec phase;
  phase.line = fields.line();
  phase.name = fields.text("name", "");
  phase.flops = fields.expression("flops");
  phase.precision = fields.text("precision", "");
  phase.mem = fields.expression("mem");
  phase.comm = fields.expression("comm");
  phase.comm_nvls = fields.expression("comm_nvls");
  phase.axis = fields.text("axis", "");
  phase.why = fields.text("why", "");
  if (phase.flops.empty() != phase.precision.empty()) {
    fields.place().fail(fields.line(), "`flops` and `precision` belong together");
  }
  return phase;
}

void parse_world(const Fields& fields, Problem& problem) {
  if (!fields.has("world")) {
    problem.world_conditions = {{"W >= 2", fields.line()}};
  } else if (fields.at("world").IsSequence()) {
    problem.world_conditions = expressions_of(fields.at("world"), fields.place(), "world");
  } else {
    problem.world_conditions = {fields.expression("world")};
  }
  problem.world.line = fields.line("world");
  for (const Expression& condition : problem.world_conditions) {
    const bool first = problem.world.empty();
    problem.world.text += fmt::format("{}({})", first ? "" : " && ", condition.text);
    problem.world_text += fmt::format("{}{}", first ? "" : ", ", condition_text(condition));
  }
}

/// The parameters as the entry gives them are the size `default`; it stands after `smoke`.
void parse_sizes(const Fields& fields, Problem& problem) {
  for (const Entry& entry : fields.entries("sizes")) {
    if (entry.key == "default") fields.place().fail(entry.line, "the size default is what `params` says");
    SizeSpec size{entry.key, {}};
    const Place place = fields.place().inside("size " + entry.key);
    for (const Named& named : parse_named(entries_of(entry.value, place, entry.key), place)) size.overrides.insert(named);
    problem.sizes.push_back(size);
  }
  const auto smoke = [](const SizeSpec& size) { return size.name == "smoke"; };
  const auto found = std::find_if(problem.sizes.begin(), problem.sizes.end(), smoke);
  problem.sizes.insert(found == problem.sizes.end() ? problem.sizes.begin() : found + 1, SizeSpec{"default", {}});
}

void parse_sweep(const Fields& fields, Problem& problem) {
  if (!fields.has("sweep")) return;
  const auto entries = fields.entries("sweep");
  if (entries.size() != 1) fields.place().fail(fields.line("sweep"), "`sweep` names one parameter and its values");
  problem.sweep.emplace(entries.front().key, std::vector<double>{});
  for (const YAML::Node& value : elements_of(entries.front().value, fields.place(), "sweep")) {
    problem.sweep->second.push_back(number_of(value, fields.place(), "sweep"));
  }
}

void parse_groups(const Fields& fields, Problem& problem) {
  for (const Entry& entry : fields.entries("groups")) {
    const Fields group(entry.value, fields.place().inside("group " + entry.key), {"color", "key"});
    const Expression key = group.has("key") ? group.expression("key") : Expression{"r", entry.line};
    problem.groups.push_back({entry.key, expression_of(group.at("color"), group.place(), "color"), key, entry.line});
  }
}

bool is_folder_word(const std::string& text) {
  const auto allowed = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

void parse_heading(const Fields& fields, Problem& problem) {
  problem.line = fields.line();
  const int64_t id = fields.integer("id");
  if (id < 1 || id > 9999) fields.place().fail(fields.line("id"), "`id` must be between 1 and 9999");
  problem.id = static_cast<int>(id);
  problem.name = fields.text("name");
  problem.title = fields.text("title");
  problem.suites = fields.texts("suites");
  problem.domain = fields.text("domain");
  const int64_t level = fields.integer("level");
  if (level < 1 || level > 9) fields.place().fail(fields.line("level"), "`level` must be between 1 and 9");
  problem.level = static_cast<int>(level);
  for (const char* key : {"name", "domain"}) {
    if (is_folder_word(fields.text(key))) continue;
    fields.place().fail(fields.line(key), fmt::format("`{}` names a folder: lower case, digits and _ only", key));
  }
  problem.folder = fmt::format("{}/{:02}_{}", problem.domain, problem.id, problem.name);
}

}  // namespace

Problem parse_problem(const YAML::Node& node, const Place& file) {
  const Fields fields(node, file.inside(label("problem", node, "id")),
                      {"id",      "name",    "title",  "suites", "domain",   "level",  "world",
                       "judged",  "params",  "let",    "sizes",  "sweep",    "groups", "inputs",
                       "scalars", "outputs", "inplace", "cases", "controls", "phases", "capture",
                       "algbw",   "busbw"});
  Problem problem;
  parse_heading(fields, problem);
  parse_world(fields, problem);
  problem.judged = fields.expression("judged");
  problem.params = parse_named(fields.entries("params"), fields.place());
  problem.let = parse_named(fields.entries("let"), fields.place());
  parse_sizes(fields, problem);
  parse_sweep(fields, problem);
  parse_groups(fields, problem);
  for (const YAML::Node& input : fields.elements("inputs")) problem.inputs.push_back(parse_input(input, fields.place()));
  problem.scalars = parse_scalars(fields.entries("scalars"), fields.place());
  fields.at("outputs");
  for (const YAML::Node& output : fields.elements("outputs")) {
    problem.outputs.push_back(parse_output(output, fields.place()));
  }
  problem.inplace = fields.texts("inplace");
  CaseSpec plain;
  plain.name = "default";
  plain.line = fields.line();
  problem.cases.push_back(plain);
  for (const YAML::Node& spec : fields.elements("cases")) problem.cases.push_back(parse_case(spec, fields.place()));
  for (const YAML::Node& control : fields.elements("controls")) {
    problem.controls.push_back(parse_control(control, fields.place()));
  }
  fields.at("phases");
  for (const YAML::Node& phase : fields.elements("phases")) problem.phases.push_back(parse_phase(phase, fields.place()));
  problem.capture = fields.text("capture", "");
  problem.algorithm_bytes = fields.text("algbw", "");
  problem.bus_bytes = fields.text("busbw", "");
  return problem;
}

}  // namespace pkb
