// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "catalogue/expression.h"
#include "catalogue/load.h"
#include "catalogue/setting.h"

namespace pkb {

namespace {

constexpr std::array kWorlds = {1, 2, 3, 4, 8};

template <typename Range, typename Name>
std::vector<std::string> names_of(const Range& range, Name&& name) {
  std::vector<std::string> names;
  for (const auto& element : range) names.push_back(name(element));
  return names;
}

const auto by_name = [](const auto& element) { return element.name; };
const auto by_first = [](const auto& element) { return element.first; };

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What the names in an entry may refer to.
struct Vocabulary {
  explicit Vocabulary(const Problem& problem)
      : params(names_of(problem.params, by_first)),
        scalars(names_of(problem.scalars, by_name)),
        inputs(names_of(problem.inputs, by_name)),
        outputs(names_of(problem.outputs, by_name)),
        groups(names_of(problem.groups, by_name)),
        cases(names_of(problem.cases, by_name)) {
    groups.insert(groups.begin(), "world");
  }
  std::vector<std::string> params, scalars, inputs, outputs, groups, cases;
};

class Check {
 public:
  Check(const Problem& problem, const Place& file)
      : problem_(problem), place_(file.inside(fmt::format("problem {}", problem.id))), known_(problem) {}

  void names() const {
    for (const auto& [name, expression] : problem_.params) require_free(name, expression.line);
    for (const auto& [name, expression] : problem_.let) {
      require_free(name, expression.line);
      if (contains(known_.params, name)) place_.fail(expression.line, fmt::format("{} is a parameter already", name));
    }
    for (const ScalarSpec& scalar : problem_.scalars) require_free(scalar.name, scalar.line);
    require_distinct("input", problem_.inputs);
    require_distinct("output", problem_.outputs);
    require_distinct("case", problem_.cases);
    for (const GroupSpec& group : problem_.groups) {
      if (group.name == "world") place_.fail(group.line, "the group world is there without being named");
    }
    if (problem_.outputs.empty()) place_.fail(problem_.line_of("outputs"), "there is no output");
  }

  void references(const std::map<std::string, std::string>& suites) const {
    for (const std::string& suite : problem_.suites) {
      require(problem_.line_of("suites"), "suite", suite, names_of(suites, by_first));
    }
    for (const SizeSpec& size : problem_.sizes) {
      for (const auto& [name, expression] : size.overrides) require(expression.line, "parameter", name, known_.params);
    }
    if (problem_.sweep) require(problem_.line_of("sweep"), "parameter", problem_.sweep->first, known_.params);
    for (const TensorSpec& input : problem_.inputs) require_group(input.line, input.scope_group);
    for (const TensorSpec& output : problem_.outputs) require_group(output.line, output.agree_group);
    for (const ScalarSpec& scalar : problem_.scalars) require_group(scalar);
    for (const CaseSpec& spec : problem_.cases) case_references(spec);
    for (const ControlSpec& control : problem_.controls) {
      require(control.line, "output", control.output, known_.outputs);
      if (!control.case_name.empty()) require(control.line, "case", control.case_name, known_.cases);
    }
  }

  void inplace() const {
    for (const std::string& name : problem_.inplace) {
      require(problem_.line_of("inplace"), "input", name, known_.inputs);
      require(problem_.line_of("inplace"), "output", name, known_.outputs);
      const TensorSpec& input = find(problem_.inputs, name);
      const TensorSpec& output = find(problem_.outputs, name);
      if (input.dtype != output.dtype || !same_shape(input, output) || input.layout != output.layout) {
        place_.fail(output.line,
                    fmt::format("{} is changed in place: dtype, shape and layout must be the input's", name));
      }
    }
    for (const TensorSpec& output : problem_.outputs) {
      if (contains(known_.inputs, output.name) && !contains(problem_.inplace, output.name)) {
        place_.fail(output.line, fmt::format("{} is an input too; list it in `inplace`", output.name));
      }
    }
  }

  void phases(const std::map<std::string, Profile>& profiles) const {
    if (problem_.phases.empty()) place_.fail(problem_.line_of("phases"), "there is no phase");
    for (const PhaseSpec& phase : problem_.phases) {
      require_group(phase.line, phase.axis);
      if (phase.precision.empty()) continue;
      for (const auto& [name, profile] : profiles) {
        if (profile.peak.count(phase.precision) > 0) continue;
        place_.fail(phase.line,
                    fmt::format("profile {}: {}", name,
                                unknown_text("precision", phase.precision, names_of(profile.peak, by_first))));
      }
    }
  }

  /// Every size must be legal for some W, and where it is, all that is evaluated must have a value.
  void expressions() const {
    Evaluator evaluator;
    try {
      for (const SizeSpec& size : problem_.sizes) legal_somewhere(size, evaluator);
    } catch (const ExpressionError& error) {
      place_.fail(error.line(), error.detail());
    }
  }

 private:
  void require(int line, std::string_view what, const std::string& word, const std::vector<std::string>& valid) const {
    if (!contains(valid, word)) place_.fail(line, unknown_text(what, word, valid));
  }

  void require_free(const std::string& name, int line) const {
    if (!is_free_name(name)) place_.fail(line, fmt::format("\"{}\" cannot be a name in expressions", name));
  }

  void require_group(int line, const std::string& name) const {
    if (!name.empty()) require(line, "group", name, known_.groups);
  }
  void require_group(const ScalarSpec& scalar) const {
    if (const auto* group = std::get_if<GroupName>(&scalar.literal)) require_group(scalar.line, group->name);
  }

  template <typename Specs>
  void require_distinct(std::string_view what, const Specs& specs) const {
    std::vector<std::string> seen;
    for (const auto& spec : specs) {
      if (!is_identifier(spec.name))
        place_.fail(spec.line, fmt::format("\"{}\" is no name for an {}", spec.name, what));
      if (contains(seen, spec.name)) place_.fail(spec.line, fmt::format("two {}s are called {}", what, spec.name));
      seen.push_back(spec.name);
    }
  }

  void case_references(const CaseSpec& spec) const {
    const Check inside(*this, "case " + spec.name);
    for (const auto& [name, value] : spec.params) inside.require(value.line, "parameter", name, known_.params);
    for (const ScalarSpec& scalar : spec.scalars) {
      inside.require(scalar.line, "scalar", scalar.name, known_.scalars);
      inside.require_group(scalar);
    }
    for (const auto& [name, draw] : spec.draws) inside.require(draw.line, "input", name, known_.inputs);
    for (const auto& [name, tolerance] : spec.tolerances) {
      if (name != "*") inside.require(spec.line, "output", name, known_.outputs);
    }
  }

  Check(const Check& other, const std::string& context)
      : problem_(other.problem_), place_(other.place_.inside(context)), known_(other.known_) {}

  static const TensorSpec& find(const std::vector<TensorSpec>& specs, const std::string& name) {
    return *std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  }

  static bool same_shape(const TensorSpec& a, const TensorSpec& b) {
    const auto same = [](const Expression& x, const Expression& y) { return x.text == y.text; };
    return std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), same) &&
           a.shape_when.size() == b.shape_when.size() && same(a.count, b.count);
  }

  void legal_somewhere(const SizeSpec& size, Evaluator& evaluator) const {
    bool legal = false;
    std::string reason;
    for (const int world : kWorlds) {
      const std::string here = evaluate(size.name, world, evaluator);
      legal = legal || here.empty();
      if (!here.empty()) reason = here;
    }
    if (!legal) {
      place_.fail(size.line, fmt::format("size {} is legal for none of W = 1, 2, 3, 4, 8: {}", size.name, reason));
    }
  }

  /// Why the size is illegal at this W; empty: it is not, and everything has a value.
  std::string evaluate(const std::string& size, int world, Evaluator& evaluator) const {
    const Overrides none;
    Setting setting(problem_, size, none, world, evaluator);
    std::string reason = setting.why_illegal();
    if (!reason.empty()) return reason;
    for (const CaseSpec& spec : problem_.cases) {
      if (spec.params.empty() || !setting.exists(spec)) continue;
      const std::string fault = setting.why_illegal(spec);
      if (fault.empty()) continue;
      place_.fail(spec.line,
                  fmt::format("case {} at size {}, W = {}: {}; say `when` it exists", spec.name, size, world, fault));
    }
    setting.phases();
    const Variables variables = setting.environment(problem_.cases.front(), 0).variables;
    evaluator.condition(problem_.judged, variables);
    if (!problem_.algorithm_bytes.empty()) {
      evaluator.amount({problem_.algorithm_bytes, problem_.line_of("algbw")}, variables);
    }
    if (!problem_.bus_bytes.empty()) evaluator.amount({problem_.bus_bytes, problem_.line_of("busbw")}, variables);
    return {};
  }

  const Problem& problem_;
  Place place_;
  Vocabulary known_;
};

}  // namespace

void validate(const Problem& problem, const std::map<std::string, std::string>& suites,
              const std::map<std::string, Profile>& profiles, const Place& file) {
  const Check check(problem, file);
  check.names();
  check.references(suites);
  check.inplace();
  check.phases(profiles);
  check.expressions();
}

}  // namespace pkb
