// SPDX-License-Identifier: Apache-2.0
#include "catalogue/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

#include "catalogue/yaml_fields.h"
#include "core/error.h"

namespace pkb {

namespace {

/// Runs `evaluate`; an error in it also says what it was about ("input A: ...").
auto about(std::string_view what, auto&& evaluate) {
  try {
    return evaluate();
  } catch (const ExpressionError& error) {
    throw ExpressionError(error.kind(), Expression{{}, error.line()}, fmt::format("{}: {}", what, error.detail()));
  }
}

const SizeSpec& size_named(const Problem& problem, std::string_view name) {
  std::vector<std::string> valid;
  for (const SizeSpec& size : problem.sizes) {
    if (size.name == name) return size;
    valid.push_back(size.name);
  }
  throw UsageError(
      fmt::format("problem {} {}: {}", problem.id, problem.name, unknown_text("size", std::string(name), valid)));
}

void require_known_params(const Problem& problem, const Overrides& overrides) {
  std::vector<std::string> valid;
  for (const auto& [name, expression] : problem.params) valid.push_back(name);
  for (const auto& [name, value] : overrides) {
    if (std::find(valid.begin(), valid.end(), name) != valid.end()) continue;
    throw UsageError(
        fmt::format("problem {} {}: {}", problem.id, problem.name, unknown_text("parameter", name, valid)));
  }
}

/// What a scalar is in expressions; null counts as 0.
std::optional<double> numeric(const Scalar& scalar) {
  if (std::holds_alternative<std::monostate>(scalar)) return 0.0;
  if (const auto* integer = std::get_if<int64_t>(&scalar)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&scalar)) return *real;
  if (const auto* boolean = std::get_if<bool>(&scalar)) return *boolean ? 1.0 : 0.0;
  return std::nullopt;
}

const ScalarSpec& spec_in_case(const ScalarSpec& scalar, const CaseSpec& spec) {
  const auto same = [&](const ScalarSpec& other) { return other.name == scalar.name; };
  const auto found = std::find_if(spec.scalars.begin(), spec.scalars.end(), same);
  return found == spec.scalars.end() ? scalar : *found;
}

int64_t product(const std::vector<int64_t>& shape, std::size_t from) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(std::min(from, shape.size())), shape.end(),
                         int64_t{1}, std::multiplies<>());
}

/// Are the arguments of a draw in order? The text says what is not.
std::string_view fault_in(const DrawInstance& draw) {
  const auto& a = draw.arguments;
  if (draw.kind == "normal" && a[1] < 0) return "sigma is negative";
  if ((draw.kind == "uniform" || draw.kind == "integers") && a[0] > a[1]) return "low is above high";
  if (draw.kind == "ternary" && (a[0] < 0 || a[0] > 1)) return "the probability is not between 0 and 1";
  return {};
}

}  // namespace

Setting::Setting(const Problem& problem, std::string_view size, const Overrides& overrides, int world,
                 Evaluator& evaluator)
    : problem_(problem), size_(size_named(problem, size)), overrides_(overrides), world_(world), evaluator_(evaluator) {
  require_known_params(problem, overrides);
}

bool Setting::exists(const CaseSpec& spec) {
  if (spec.when.empty()) return true;
  CaseSpec plain;  // `when` sees the size's own parameters, not what the case makes of them
  return about("case " + spec.name,
               [&] { return evaluator_.condition(spec.when, with_shorthands(parameters(plain, 0))); });
}

/// The parameters: the entry's values, then the size's, then --set's, then the case's, which may name those before it.
Variables Setting::parameters(const CaseSpec& spec, int rank) {
  Variables variables{{"W", world_}};
  for (const auto& [name, expression] : problem_.params) {
    const auto set = overrides_.find(name);
    const auto sized = size_.overrides.find(name);
    const Expression& used = sized == size_.overrides.end() ? expression : sized->second;
    variables[name] = set == overrides_.end() ? evaluator_.number(used, variables) : set->second;
  }
  Variables changed = variables;
  for (const auto& [name, expression] : spec.params) changed[name] = evaluator_.number(expression, variables);
  changed["r"] = rank;
  return changed;
}

Variables Setting::with_shorthands(Variables variables) {
  for (const auto& [name, expression] : problem_.let) variables[name] = evaluator_.number(expression, variables);
  return variables;
}

Scalar Setting::scalar(const ScalarSpec& spec, const Variables& variables) {
  if (!spec.list_shape.empty()) {
    IntegerList list{{}, spec.list_shape};
    for (const Expression& element : spec.elements) list.values.push_back(evaluator_.integer(element, variables));
    return list;
  }
  if (spec.expression.empty()) return spec.literal;
  if (spec.is_float) return evaluator_.number(spec.expression, variables);
  return evaluator_.integer(spec.expression, variables);
}

Environment Setting::environment(const CaseSpec& spec, int rank, int64_t draw) {
  Environment result;
  result.params = parameters(spec, rank);
  result.variables = with_shorthands(result.params);
  for (const ScalarSpec& base : problem_.scalars) {
    const ScalarSpec& used = spec_in_case(base, spec);
    Variables with_draw;
    if (used.per_draw) {
      with_draw = result.variables;
      with_draw["draw"] = static_cast<double>(draw);
    }
    const Scalar value =
        about("scalar " + used.name, [&] { return scalar(used, used.per_draw ? with_draw : result.variables); });
    const auto number = numeric(value);
    // Shapes belong to the case, so nothing that changes from draw to draw may reach them.
    if (number && !used.per_draw) result.variables[used.name] = *number;
    result.scalars[used.name] = value;
  }
  return result;
}

TensorInstance Setting::tensor(const TensorSpec& spec, int list_index, const Variables& variables) {
  TensorInstance result;
  result.name = spec.name;
  result.list_index = list_index;
  result.dtype = spec.dtype;
  result.host = spec.host;
  result.dynamic = spec.dynamic;
  result.spec = &spec;
  result.present = evaluator_.condition(spec.present, variables);
  const auto holds = [&](const auto& alternative) { return evaluator_.condition(alternative.first, variables); };
  const auto chosen = std::find_if(spec.shape_when.begin(), spec.shape_when.end(), holds);
  for (const Expression& extent : chosen == spec.shape_when.end() ? spec.shape : chosen->second) {
    result.shape.push_back(evaluator_.extent(extent, variables));
  }
  result.capacity = result.elements();
  if (!spec.capacity.empty()) {
    const int64_t rows = evaluator_.extent(spec.capacity, variables);
    result.capacity = std::max(result.capacity, rows * product(result.shape, 1));
  }
  return result;
}

std::vector<TensorInstance> Setting::tensors(const std::vector<TensorSpec>& specs, const Environment& environment) {
  std::vector<TensorInstance> result;
  for (const TensorSpec& spec : specs) {
    about(spec.name, [&] {
      if (spec.count.empty()) {
        result.push_back(tensor(spec, -1, environment.variables));
        return;
      }
      Variables variables = environment.variables;
      const int64_t count = evaluator_.extent(spec.count, variables);
      for (int i = 0; i < count; ++i) {
        variables["i"] = i;
        result.push_back(tensor(spec, i, variables));
      }
    });
  }
  return result;
}

DrawInstance Setting::draw(const TensorSpec& input, const CaseSpec& spec, const Environment& environment) {
  const auto changed = spec.draws.find(input.name);
  const DrawSpec& used = changed == spec.draws.end() ? input.draw : changed->second;
  DrawInstance result;
  result.kind = used.kind;
  if (used.kind == "custom") {
    if (!used.arguments.empty()) result.custom_name = used.arguments.front().text;
    return result;
  }
  about(input.name, [&] {
    for (const Expression& argument : used.arguments) {
      result.arguments.push_back(evaluator_.number(argument, environment.variables));
    }
  });
  if (const auto fault = fault_in(result); !fault.empty()) {
    throw ExpressionError(ExpressionError::Kind::value, Expression{{}, used.line},
                          fmt::format("{}: draw {}: {}", input.name, used.kind, fault));
  }
  return result;
}

Tolerance Setting::tolerance(const TensorSpec& output, const CaseSpec& spec, const Environment& environment) {
  const ToleranceSpec* used = &output.tolerance;
  for (const std::string& key : {std::string("*"), output.name}) {
    const auto changed = spec.tolerances.find(key);
    if (changed != spec.tolerances.end()) used = &changed->second;
  }
  const auto value = [&](const Expression& bound) {
    return bound.empty() ? 0.0 : evaluator_.amount(bound, environment.variables);
  };
  return about(output.name, [&] {
    return Tolerance{value(used->atol), value(used->rtol), value(used->frobenius), used->atol_in_rms};
  });
}

std::vector<GroupInstance> Setting::groups(const CaseSpec& spec, int rank) {
  GroupInstance world{"world", std::vector<int>(static_cast<std::size_t>(world_)), rank};
  std::iota(world.members.begin(), world.members.end(), 0);
  std::vector<GroupInstance> result{world};
  if (problem_.groups.empty()) return result;

  std::vector<Variables> variables;
  for (int r = 0; r < world_; ++r) variables.push_back(environment(spec, r).variables);
  for (const GroupSpec& group : problem_.groups) {
    about("group " + group.name, [&] {
      struct Member {
        int64_t key;
        int rank;
      };
      std::vector<Member> members;
      const int64_t color = evaluator_.integer(group.color, variables[static_cast<std::size_t>(rank)]);
      for (int r = 0; r < world_; ++r) {
        const Variables& here = variables[static_cast<std::size_t>(r)];
        if (evaluator_.integer(group.color, here) == color) members.push_back({evaluator_.integer(group.key, here), r});
      }
      std::sort(members.begin(), members.end(),
                [](const Member& a, const Member& b) { return std::tie(a.key, a.rank) < std::tie(b.key, b.rank); });
      GroupInstance made{group.name, {}, 0};
      for (const Member& member : members) {
        if (member.rank == rank) made.index = static_cast<int>(made.members.size());
        made.members.push_back(member.rank);
      }
      result.push_back(made);
    });
  }
  return result;
}

std::vector<PhaseInstance> Setting::phases() {
  const Environment environment = this->environment(problem_.cases.front(), 0);
  std::vector<PhaseInstance> result;
  for (const PhaseSpec& phase : problem_.phases) {
    about("phase " + phase.name, [&] {
      const auto amount = [&](const Expression& expression) {
        return expression.empty() ? 0.0 : evaluator_.amount(expression, environment.variables);
      };
      PhaseInstance made{phase.name,        phase.precision,    phase.axis, amount(phase.flops),
                         amount(phase.mem), amount(phase.comm), 0};
      made.comm_nvls_bytes = phase.comm_nvls.empty() ? made.comm_bytes : amount(phase.comm_nvls);
      result.push_back(made);
    });
  }
  return result;
}

Setting::Capacities Setting::capacities(const std::vector<TensorSpec>& specs, const CaseSpec& spec) {
  std::vector<const CaseSpec*> sharing;
  for (const CaseSpec& other : problem_.cases) {
    const bool shares = spec.params.empty() ? other.params.empty() && exists(other) : &other == &spec;
    if (shares) sharing.push_back(&other);
  }
  Capacities result;
  for (const CaseSpec* other : sharing) {
    for (int rank = 0; rank < world_; ++rank) {
      for (const TensorInstance& tensor : tensors(specs, environment(*other, rank))) {
        int64_t& capacity = result[{tensor.name, tensor.list_index}];
        capacity = std::max(capacity, tensor.capacity);
      }
    }
  }
  return result;
}

std::string Setting::failed_condition(const CaseSpec& spec) {
  const Variables variables = with_shorthands(parameters(spec, 0));
  for (const Expression& condition : problem_.world_conditions) {
    if (evaluator_.condition(condition, variables)) continue;
    return fmt::format("needs {}; {}", condition_text(condition), evaluator_.values_text(condition, variables));
  }
  return {};
}

void Setting::evaluate_all(const CaseSpec& spec) {
  for (int rank = 0; rank < world_; ++rank) {
    const Environment here = environment(spec, rank);
    tensors(problem_.inputs, here);
    tensors(problem_.outputs, here);
    for (const TensorSpec& input : problem_.inputs) draw(input, spec, here);
    for (const TensorSpec& output : problem_.outputs) tolerance(output, spec, here);
    groups(spec, rank);
    controls(spec, here);
  }
}

std::vector<const ControlSpec*> Setting::controls(const CaseSpec& spec, const Environment& environment) {
  std::vector<const ControlSpec*> right;
  for (const ControlSpec& control : problem_.controls) {
    about("control " + control.control, [&] {
      const bool holds = evaluator_.condition(control.when, environment.variables);
      if (holds && (control.case_name.empty() || control.case_name == spec.name)) right.push_back(&control);
    });
  }
  return right;
}

std::string Setting::why_illegal(const CaseSpec& spec) {
  try {
    std::string reason = failed_condition(spec);
    if (reason.empty()) evaluate_all(spec);
    return reason;
  } catch (const ExpressionError& error) {
    if (error.kind() != ExpressionError::Kind::value) throw;
    return error.detail();
  }
}

std::string Setting::why_illegal() {
  for (const CaseSpec& spec : problem_.cases) {
    if (!spec.params.empty() || !exists(spec)) continue;
    const std::string reason = why_illegal(spec);
    if (!reason.empty()) return reason;
  }
  return {};
}

std::string condition_text(const Expression& condition) {
  const std::string& text = condition.text;
  constexpr std::string_view kStart = "mod(", kEnd = ") == 0";
  const std::size_t comma = text.rfind(", ");
  if (!text.starts_with(kStart) || !text.ends_with(kEnd) || comma == std::string::npos) return text;
  const std::string divisor = text.substr(comma + 2, text.size() - kEnd.size() - comma - 2);
  const std::string whole = text.substr(0, text.size() - kEnd.size());
  if (divisor.find_first_of("()") != std::string::npos || whole.find_first_of("=<>&|?") != std::string::npos)
    return text;
  return fmt::format("{} divisible by {}", text.substr(kStart.size(), comma - kStart.size()), divisor);
}

}  // namespace pkb
