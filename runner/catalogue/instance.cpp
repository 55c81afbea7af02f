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

const CaseSpec& case_at(const Problem& problem, int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= problem.cases.size()) {
    throw Error(fmt::format("problem {} {} has no case number {}", problem.id, problem.name, index));
  }
  return problem.cases[static_cast<std::size_t>(index)];
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
  set_capacities(instance.outputs, setting.capacities(problem.outputs, spec));
  for (const TensorSpec& input : problem.inputs) instance.draws[input.name] = setting.draw(input, spec, environment);
  for (const TensorSpec& output : problem.outputs) {
    instance.tolerances[output.name] = setting.tolerance(output, spec, environment);
  }
  instance.groups = setting.groups(spec, rank);
  instance.overrides_params = !spec.params.empty();
  return instance;
}

std::map<std::string, Scalar, std::less<>> scalars_of_draw(const Instance& instance, int64_t draw) {
  const Problem& problem = *instance.problem;
  const auto per_draw = [](const ScalarSpec& scalar) { return scalar.per_draw; };
  const auto same = [&](const CaseSpec& spec) { return spec.name == instance.case_name; };
  const CaseSpec& spec = *std::find_if(problem.cases.begin(), problem.cases.end(), same);
  if (std::none_of(problem.scalars.begin(), problem.scalars.end(), per_draw) &&
      std::none_of(spec.scalars.begin(), spec.scalars.end(), per_draw)) {
    return instance.scalars;
  }
  Evaluator evaluator;
  CaseSpec settled = spec;  // the instance's parameters are final
  settled.params.clear();
  Overrides params(instance.params.begin(), instance.params.end());
  params.erase("W");
  params.erase("r");
  return Setting(problem, instance.size, params, instance.world, evaluator)
      .environment(settled, instance.rank, draw)
      .scalars;
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
