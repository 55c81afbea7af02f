// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "catalogue/catalogue.h"
#include "catalogue/setting.h"
#include "core/error.h"

namespace pkb {

namespace {

void set_capacities(std::vector<TensorInstance>& tensors, const Setting::Capacities& capacities) {
  for (TensorInstance& tensor : tensors) tensor.capacity = capacities.at({tensor.name, tensor.list_index});
}

void mark_shared(std::vector<TensorInstance>& inputs, const std::vector<std::string>& inplace) {
  for (TensorInstance& input : inputs) {
    const bool changes = std::find(inplace.begin(), inplace.end(), input.name) != inplace.end();
    input.shared = !changes && !input.host && !input.dynamic && input.capacity_bytes() >= kSharedInputBytes;
  }
}

const CaseSpec& case_at(const Problem& problem, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= problem.cases.size()) {
    throw Error(fmt::format("problem {} {} has no case number {}", problem.id, problem.name, index));
  }
  return problem.cases[static_cast<std::size_t>(index)];
}

/// Null for an instance that was not made of a case.
const CaseSpec* case_of(const Instance& instance) {
  const auto& cases = instance.problem->cases;
  const auto same = [&](const CaseSpec& spec) { return spec.name == instance.case_name; };
  const auto found = std::find_if(cases.begin(), cases.end(), same);
  return found == cases.end() ? nullptr : &*found;
}

bool has_scalars_per_draw(const Problem& problem, const CaseSpec* spec) {
  const auto per_draw = [](const ScalarSpec& scalar) { return scalar.per_draw; };
  const auto any_in = [&](const auto& scalars) { return std::any_of(scalars.begin(), scalars.end(), per_draw); };
  return spec != nullptr && (any_in(problem.scalars) || any_in(spec->scalars));
}

void require_rank(int rank, int world) {
  if (rank < 0 || rank >= world) throw Error(fmt::format("rank {} is not in a world of {}", rank, world));
}

}  // namespace

std::string why_illegal(const Problem& problem, std::string_view size, const Overrides& overrides, int world) {
  Evaluator evaluator;
  return Setting(problem, size, overrides, world, evaluator).why_illegal();
}

std::vector<int> cases_of(const Problem& problem, std::string_view size, const Overrides& overrides, int world) {
  Evaluator evaluator;
  Setting setting(problem, size, overrides, world, evaluator);
  std::vector<int> result;
  for (std::size_t i = 0; i < problem.cases.size(); ++i) {
    const CaseSpec& spec = problem.cases[i];
    // A case that makes parameters of its own may be impossible at a W where the others are not.
    if (setting.exists(spec) && (spec.params.empty() || setting.why_illegal(spec).empty())) {
      result.push_back(static_cast<int>(i));
    }
  }
  return result;
}

Instance make_instance(const Problem& problem, std::string_view size, const Overrides& overrides, int world, int rank,
                       int case_index) {
  require_rank(rank, world);
  const CaseSpec& spec = case_at(problem, case_index);
  Evaluator evaluator;
  Setting setting(problem, size, overrides, world, evaluator);
  const std::string reason = spec.params.empty() ? setting.why_illegal() : setting.why_illegal(spec);
  if (!reason.empty()) {
    throw UsageError(fmt::format("problem {} {}, size {}, case {}, W = {}: {}", problem.id, problem.name, size,
                                 spec.name, world, reason));
  }

  const Environment environment = setting.environment(spec, rank);
  Instance instance;
  instance.problem = &problem;
  instance.size = size;
  instance.world = world;
  instance.rank = rank;
  instance.case_name = spec.name;
  instance.params = environment.params;
  instance.scalars = environment.scalars;
  instance.inputs = setting.tensors(problem.inputs, environment);
  instance.outputs = setting.tensors(problem.outputs, environment);
  set_capacities(instance.inputs, setting.capacities(problem.inputs, spec));
  mark_shared(instance.inputs, problem.inplace);
  set_capacities(instance.outputs, setting.capacities(problem.outputs, spec));
  for (const TensorSpec& input : problem.inputs) instance.draws[input.name] = setting.draw(input, spec, environment);
  for (const TensorSpec& output : problem.outputs) {
    instance.tolerances[output.name] = setting.tolerance(output, spec, environment);
  }
  instance.groups = setting.groups(spec, rank);
  instance.controls = setting.controls(spec, environment);
  instance.overrides_params = !spec.params.empty();
  return instance;
}

std::map<std::string, Scalar, std::less<>> scalars_of_draw(const Instance& instance, int64_t draw) {
  const Problem& problem = *instance.problem;
  const CaseSpec* spec = case_of(instance);
  if (!has_scalars_per_draw(problem, spec)) return instance.scalars;
  Evaluator evaluator;
  CaseSpec settled = *spec;  // the instance's parameters are final
  settled.params.clear();
  Overrides params(instance.params.begin(), instance.params.end());
  params.erase("W");
  params.erase("r");
  return Setting(problem, instance.size, params, instance.world, evaluator)
      .environment(settled, instance.rank, draw)
      .scalars;
}

bool arguments_change(const Instance& instance) {
  const auto dynamic = [](const TensorInstance& input) { return input.dynamic; };
  return has_scalars_per_draw(*instance.problem, case_of(instance)) ||
         std::any_of(instance.inputs.begin(), instance.inputs.end(), dynamic);
}

std::vector<PhaseInstance> phases_of(const Problem& problem, std::string_view size, const Overrides& overrides,
                                     int world) {
  Evaluator evaluator;
  Setting setting(problem, size, overrides, world, evaluator);
  const std::string reason = setting.why_illegal();
  if (!reason.empty()) {
    throw UsageError(fmt::format("problem {} {}, size {}, W = {}: {}", problem.id, problem.name, size, world, reason));
  }
  return setting.phases();
}

}  // namespace pkb
