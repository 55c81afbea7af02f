// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "catalogue/expression.h"
#include "catalogue/load.h"
#include "catalogue/setting.h"

namespace pkb {

namespace {

using Named = std::pair<std::string, Expression>;

std::vector<Named> parse_named(const std::vector<Entry>& entries, const Place& place) {
  std::vector<Named> result;
  for (const Entry& entry : entries) result.emplace_back(entry.key, expression_of(entry.value, place, entry.key));
  return result;
}

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
  const Fields fields(node, problem.inside(label("control", node, "right")),
                      {"right", "output", "case", "when", "why"});
  ControlSpec control;
  control.line = fields.line();
  control.control = fields.text("right");
  fields.require_known(
      fields.line("right"), "control", control.control,
      {"zeros", "ones", "constant", "nan", "input", "stale", "mute", "partial", "one_off", "baseline"});
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
    SizeSpec size{entry.key, {}, entry.line};
    const Place place = fields.place().inside("size " + entry.key);
    for (const Named& named : parse_named(entries_of(entry.value, place, entry.key), place))
      size.overrides.insert(named);
    problem.sizes.push_back(size);
  }
  const auto smoke = [](const SizeSpec& size) { return size.name == "smoke"; };
  const auto found = std::find_if(problem.sizes.begin(), problem.sizes.end(), smoke);
  problem.sizes.insert(found == problem.sizes.end() ? problem.sizes.begin() : found + 1,
                       SizeSpec{"default", {}, fields.line("params")});
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

/// A scalar that is a parameter written as a float ("1.0") is a float too, also where its value is whole.
void infer_floats(std::vector<ScalarSpec>& scalars, const std::vector<Named>& params) {
  for (ScalarSpec& scalar : scalars) {
    for (const auto& [name, value] : params) {
      if (scalar.expression.text == name) scalar.is_float |= is_float_literal(value.text);
    }
  }
}

bool is_folder_word(const std::string& text) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

void parse_heading(const Fields& fields, Problem& problem) {
  problem.line = fields.line();
  for (const Entry& entry : fields.entries()) problem.key_lines[entry.key] = entry.line;
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
    fields.place().fail(fields.line(key), fmt::format("`{}` names a folder: letters, digits and _ only", key));
  }
  problem.folder = fmt::format("{}/{:02}_{}", problem.domain, problem.id, problem.name);
}

}  // namespace

Problem parse_problem(const YAML::Node& node, const Place& file) {
  const Fields fields(node, file.inside(label("problem", node, "id")),
                      {"id",      "name",  "title",    "suites", "domain",  "level",  "world",   "judged",
                       "params",  "let",   "sizes",    "sweep",  "groups",  "inputs", "scalars", "outputs",
                       "inplace", "cases", "controls", "phases", "capture", "algbw",  "busbw"});
  Problem problem;
  parse_heading(fields, problem);
  parse_world(fields, problem);
  problem.judged = fields.expression("judged");
  problem.params = parse_named(fields.entries("params"), fields.place());
  problem.let = parse_named(fields.entries("let"), fields.place());
  parse_sizes(fields, problem);
  parse_sweep(fields, problem);
  parse_groups(fields, problem);
  for (const YAML::Node& input : fields.elements("inputs"))
    problem.inputs.push_back(parse_input(input, fields.place()));
  problem.scalars = parse_scalars(fields.entries("scalars"), fields.place());
  infer_floats(problem.scalars, problem.params);
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
  for (CaseSpec& spec : problem.cases) infer_floats(spec.scalars, problem.params);
  for (const YAML::Node& control : fields.elements("controls")) {
    problem.controls.push_back(parse_control(control, fields.place()));
  }
  fields.at("phases");
  for (const YAML::Node& phase : fields.elements("phases"))
    problem.phases.push_back(parse_phase(phase, fields.place()));
  problem.capture = fields.text("capture", "");
  problem.algorithm_bytes = fields.text("algbw", "");
  problem.bus_bytes = fields.text("busbw", "");
  return problem;
}

}  // namespace pkb
