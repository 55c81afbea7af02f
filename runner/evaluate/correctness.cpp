// SPDX-License-Identifier: Apache-2.0
#include "evaluate/correctness.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "catalogue/catalogue.h"
#include "core/error.h"
#include "core/log.h"
#include "evaluate/order.h"
#include "evaluate/room.h"
#include "evaluate/trials.h"

namespace pkb {
namespace {

constexpr std::chrono::seconds kReferenceLimit{600};

struct Finding {
  std::string what;  ///< empty: all is well
  MismatchDetail detail;
};

nlohmann::json to_json(const Finding& finding) {
  const MismatchDetail& d = finding.detail;
  // Hexadecimal floats keep NaN and infinities, which JSON has not.
  std::ostringstream got, expected;
  got << std::hexfloat << d.got;
  expected << std::hexfloat << d.expected;
  return {{"what", finding.what}, {"output", d.output},         {"call", d.call},   {"index", d.index},
          {"got", got.str()},     {"expected", expected.str()}, {"wrong", d.wrong}, {"elements", d.elements}};
}

Finding finding_from(const nlohmann::json& json) {
  Finding finding;
  finding.what = json.at("what");
  finding.detail.output = json.at("output");
  finding.detail.call = json.at("call");
  finding.detail.index = json.at("index");
  finding.detail.got = std::strtod(json.at("got").get<std::string>().c_str(), nullptr);
  finding.detail.expected = std::strtod(json.at("expected").get<std::string>().c_str(), nullptr);
  finding.detail.wrong = json.at("wrong");
  finding.detail.elements = json.at("elements");
  return finding;
}

std::string number(double value) {
  std::ostringstream text;
  text.precision(6);
  text << value;
  return text.str();
}

std::string describe(const Finding& finding, int rank, const Instance& instance, int trial) {
  const MismatchDetail& d = finding.detail;
  std::string text = "rank " + std::to_string(rank) + " " + finding.what;
  if (d.elements > 0) {
    text += " " + d.output + "[" + std::to_string(d.index) + "]: got " + number(d.got) + ", expected " +
            number(d.expected) + "; " + std::to_string(d.wrong) + " of " + std::to_string(d.elements) + " wrong";
  }
  if (instance.case_name != "default") text += ", case " + instance.case_name;
  text += trial >= 0 ? ", trial " + std::to_string(trial) + " call " + std::to_string(d.call)
                     : ", timed draw " + std::to_string(d.call);
  return text;
}

/// What this rank finds in one slot. The expected outputs are current.
Finding inspect(Job& job, Slab& slab, const Instance& instance, int slot, CorrectnessReport& report) {
  Finding finding;
  finding.detail.call = slot;
  OutputErrors errors;
  if (!slab.inputs_intact(instance, job.reference, slot, finding.detail)) {
    finding.what = "the candidate changed its input";
  } else if (!slab.guards_intact(instance, slot, finding.detail.output)) {
    finding.what = "the candidate wrote outside its output " + finding.detail.output;
  } else if (!slab.outputs_match(instance, job.reference, slot, finding.detail, errors)) {
    finding.what = "output";
  }
  report.max_absolute_error = std::max(report.max_absolute_error, errors.max_absolute);
  report.max_relative_error = std::max(report.max_relative_error, errors.max_relative);
  return finding;
}

const GroupInstance& group_named(const Instance& instance, const std::string& name) {
  const auto group = std::find_if(instance.groups.begin(), instance.groups.end(),
                                  [&](const GroupInstance& candidate) { return candidate.name == name; });
  return group == instance.groups.end() ? instance.groups.front() : *group;
}

/// What one rank saw over all slots: its first wrong element, and hashes of the outputs that must agree across ranks.
struct Inspection {
  Finding finding;
  std::vector<std::vector<uint64_t>> hashes;  ///< [slot][output]; 0 where nothing has to agree
};

std::vector<uint64_t> hash_agreeing_outputs(const Job& job, Slab& slab, const Instance& instance, int slot) {
  std::vector<uint64_t> hashes(instance.outputs.size(), 0);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const TensorInstance& output = instance.outputs[i];
    if (output.present && output.spec->agree == "bitwise") hashes[i] = slab.hash_output(job.reference, slot, i);
  }
  return hashes;
}

/// The first call of a trial: case.trial0.rank1.pt. `slab` is null where there is no candidate. The expected outputs
/// are current. Returns why it could not be written, for `fail_after`: the other ranks are waiting in the reference's
/// next run, so this is no place to throw.
std::string dump_call(const Job& job, Slab* slab, const Instance& instance, int trial,
                      const std::filesystem::path& folder) {
  DumpDetails details{.trial = trial, .draw = int64_t{trial} * kBurst, .actual = {}, .rows = {}};
  for (std::size_t i = 0; slab && i < instance.outputs.size(); ++i) {
    details.actual.push_back(slab->output(instance, 0, i));
    details.rows.push_back(slab->reported_rows(0, i));
  }
  const std::string name =
      instance.case_name + ".trial" + std::to_string(trial) + ".rank" + std::to_string(instance.rank) + ".pt";
  try {
    std::filesystem::create_directories(folder);
    job.reference.dump(folder / name, 0, details);
  } catch (const std::exception& error) {
    log::error(error.what());  // the table cuts it to a line
    return error.what();
  }
  return {};
}

void fail_after(const std::string& failure) {
  if (!failure.empty()) throw Error(failure);
}

/// The runs of the reference communicate: all ranks must come through here together.
Inspection inspect_all(Job& job, Slab& slab, const Instance& instance, int slots, int trial, CorrectnessReport& report,
                       const std::filesystem::path& dumps) {
  Inspection inspection;
  std::string failure;
  for (int slot = 0; slot < slots; ++slot) {
    job.reference.make_expected(slot);
    if (slot == 0 && !dumps.empty()) failure = dump_call(job, &slab, instance, trial, dumps);
    Finding finding = inspect(job, slab, instance, slot, report);
    const std::string wrong = job.reference.check(slot, slab.outputs(instance, slot));
    if (finding.what.empty()) finding.what = wrong;
    if (inspection.finding.what.empty()) inspection.finding = finding;
    inspection.hashes.push_back(hash_agreeing_outputs(job, slab, instance, slot));
  }
  job.reference.drop_expected();
  fail_after(failure);
  return inspection;
}

/// Where this rank's group disagrees about an output that must be identical; empty: nowhere.
std::string disagreement(const Instance& instance, const std::vector<nlohmann::json>& reports, MismatchDetail& detail) {
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorInstance& output = instance.outputs[i];
    if (output.spec->agree != "bitwise" || !output.present) continue;
    const auto& members = group_named(instance, output.spec->agree_group).members;
    const auto& mine = reports[static_cast<std::size_t>(instance.rank)].at("hashes");
    for (std::size_t slot = 0; slot < mine.size(); ++slot) {
      for (const int member : members) {
        const uint64_t hash = reports[static_cast<std::size_t>(member)].at("hashes").at(slot).at(i);
        if (hash == 0 || hash == mine.at(slot).at(i).get<uint64_t>()) continue;
        detail.output = output.name;
        detail.call = static_cast<int>(slot);
        return "output " + output.name + " differs in its bits between ranks " + std::to_string(instance.rank) +
               " and " + std::to_string(member);
      }
    }
  }
  return {};
}

/// Orders and delays come from the seed, so that a run can be repeated, and the candidate cannot foresee them.
std::mt19937_64 random_of(const Job& job, int trial, int rank) {
  std::seed_seq sequence{job.seed, job.seed >> 32, static_cast<uint64_t>(trial), static_cast<uint64_t>(rank)};
  return std::mt19937_64(sequence);
}

/// How long each rank keeps its stream busy before each call: a missing barrier then shows as a mismatch, not as a
/// lucky pass. In every second trial, and in all with --skew.
std::vector<int64_t> burst_delays(const Job& job, int trial, int burst) {
  if (!job.options.skew && trial % 2 == 0) return {};
  const int64_t longest_ns = job.device.kind() == DeviceKind::cuda ? 50'000 : 1'000'000;
  std::mt19937_64 random = random_of(job, trial, job.team.rank());
  std::vector<int64_t> delays(static_cast<std::size_t>(burst));
  for (int64_t& delay : delays) delay = static_cast<int64_t>(random() % static_cast<uint64_t>(longest_ns));
  return delays;
}

void run_trial(Job& job, Contestant& contestant, const Instance& instance, int trial, CorrectnessReport& report,
               const std::filesystem::path& dumps) {
  const int burst = burst_that_fits(job, instance);
  make_draws(job, instance, static_cast<int64_t>(trial) * kBurst, burst);
  contestant.load_draws(instance);
  std::mt19937_64 random = random_of(job, trial, -1);  // the same on all ranks: calls are collective
  contestant.run(shuffled_order(burst, burst, random), burst_delays(job, trial, burst));
  check_slots(job, contestant, instance, burst, trial, report, dumps);
  ++report.trials;
}

/// The answer must pass the reference's own check.
void require_own_check(Job& job, const Instance& instance, int slot) {
  std::vector<const void*> answer;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) answer.push_back(job.reference.expected(i).data);
  const std::string wrong = job.reference.check(slot, answer);
  if (!wrong.empty()) throw Error("the reference's answer fails its own check: " + wrong);
}

bool is_excused(const Instance& instance, const std::string& output, const std::string& control) {
  return std::ranges::any_of(instance.controls, [&](const ControlSpec* spec) {
    // An output that is constant anyway may well be zero.
    return spec->output == output && (spec->control == control || (spec->control == "constant" && control == "zeros"));
  });
}

/// What is wrong with this rank's expectations and draws of a slot; which outputs are sound here.
struct Doubts {
  std::map<std::string, std::string> faults;  ///< output: what is wrong
  std::set<std::string> sound;
  std::set<std::string> repeated, fresh;  ///< inputs
};

Doubts doubts_about(Job& job, const Instance& instance, int slot) {
  Doubts doubts;
  for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
    const TensorInstance& output = instance.outputs[i];
    const TensorView expected = job.reference.expected(i);
    if (!expected.present() || expected.elements() == 0) continue;
    const auto [control, what] = job.reference.degenerate(slot, i);
    if (what.empty() || is_excused(instance, output.name, control)) {
      doubts.sound.insert(output.name);
    } else {
      doubts.faults[output.name] = what;
    }
  }
  // Other cases may well be about inputs that are always the same.
  const bool compares = slot > 0 && instance.case_name == "default";
  for (std::size_t i = 0; compares && i < instance.inputs.size(); ++i) {
    const bool same = job.reference.repeats_input(slot, i);
    (same ? doubts.repeated : doubts.fresh).insert(instance.inputs[i].name);
  }
  return doubts;
}

/// Collective. An expectation that a lazy kernel meets on all ranks that have it is an error of the problem's inputs,
/// and so is an input that no rank has anew in each draw.
void require_telling_draws(Job& job, const Instance& instance, int slot) {
  const Doubts mine = doubts_about(job, instance, slot);
  const nlohmann::json json{
      {"faults", mine.faults}, {"sound", mine.sound}, {"repeated", mine.repeated}, {"fresh", mine.fresh}};
  std::map<std::string, std::string> faults;
  std::set<std::string> sound, repeated, fresh;
  for (const std::string& text : job.team.all_gather(json.dump())) {
    const auto theirs = nlohmann::json::parse(text);
    faults.merge(theirs.at("faults").get<std::map<std::string, std::string>>());
    sound.merge(theirs.at("sound").get<std::set<std::string>>());
    repeated.merge(theirs.at("repeated").get<std::set<std::string>>());
    fresh.merge(theirs.at("fresh").get<std::set<std::string>>());
  }
  for (const auto& [output, what] : faults) {
    if (sound.contains(output)) continue;
    throw EvaluationEnded({"harness_error",
                           "the expected output " + output + " is " + what + " in case " + instance.case_name +
                               ": such inputs cannot tell a lazy kernel from a right one",
                           -1,
                           {}});
  }
  for (const std::string& input : repeated) {
    if (fresh.contains(input)) continue;
    throw EvaluationEnded(
        {"harness_error", "input " + input + " is the same in two draws of case " + instance.case_name, -1, {}});
  }
}

}  // namespace

void check_slots(Job& job, Contestant& contestant, const Instance& instance, int slots, int trial,
                 CorrectnessReport& report, const std::filesystem::path& dumps) {
  Inspection mine;
  {
    Watchdog::Step step(job.watchdog, "the reference of " + instance.problem->folder_name(), kReferenceLimit);
    together(job.team, [&] { mine = inspect_all(job, contestant.slab(), instance, slots, trial, report, dumps); });
  }
  auto contribution = to_json(mine.finding);
  contribution["hashes"] = mine.hashes;
  contribution["errors"] = {report.max_absolute_error, report.max_relative_error};
  std::vector<nlohmann::json> reports;
  for (const std::string& text : job.team.all_gather(contribution.dump()))
    reports.push_back(nlohmann::json::parse(text));

  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    Finding finding = finding_from(reports[rank]);
    report.max_absolute_error = std::max(report.max_absolute_error, reports[rank].at("errors").at(0).get<double>());
    report.max_relative_error = std::max(report.max_relative_error, reports[rank].at("errors").at(1).get<double>());
    if (finding.what.empty()) continue;
    finding.detail.rank = static_cast<int>(rank);
    finding.detail.trial = trial;
    finding.detail.case_name = instance.case_name;
    throw EvaluationEnded({"mismatch", describe(finding, static_cast<int>(rank), instance, trial),
                           static_cast<int>(rank), finding.detail});
  }
  // Groups differ by rank, so each rank judges its own; the first that objects ends the evaluation for all.
  MismatchDetail detail;
  detail.case_name = instance.case_name;
  detail.trial = trial;
  const auto objections = job.team.all_gather(disagreement(instance, reports, detail));
  for (std::size_t rank = 0; rank < objections.size(); ++rank) {
    if (objections[rank].empty()) continue;
    const std::string where = trial >= 0 ? ", trial " + std::to_string(trial) : ", timed calls";
    throw EvaluationEnded({"mismatch", objections[rank] + where, static_cast<int>(rank), detail});
  }
}

CorrectnessReport check(Job& job, Contestant& contestant, const Problem& problem, const std::string& size,
                        const Overrides& overrides, int slots, const std::filesystem::path& dumps) {
  CorrectnessReport report;
  const auto plan = plan_trials(cases_of(problem, size, overrides, job.team.size()), job.options.trials);
  // Cases with parameters of their own come last, each with its own set-up.
  std::vector<std::pair<int, int>> own_setup;
  const Instance plain = instance_of(job, problem, size, overrides, plan.front());
  contestant.set_up(plain, std::max(slots, burst_that_fits(job, plain)));
  for (std::size_t trial = 0; trial < plan.size(); ++trial) {
    const Instance instance = instance_of(job, problem, size, overrides, plan[trial]);
    if (instance.overrides_params) {
      own_setup.emplace_back(static_cast<int>(trial), plan[trial]);
      continue;
    }
    run_trial(job, contestant, instance, static_cast<int>(trial), report, dumps);
  }
  for (const auto& [trial, case_index] : own_setup) {
    const Instance instance = instance_of(job, problem, size, overrides, case_index);
    contestant.set_up(instance, burst_that_fits(job, instance));
    run_trial(job, contestant, instance, trial, report, dumps);
    report.default_set_up = false;
  }
  return report;
}

CorrectnessReport check_reference(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                                  const std::filesystem::path& dumps) {
  CorrectnessReport report;
  const auto plan = plan_trials(cases_of(problem, size, overrides, job.team.size()), job.options.trials);
  for (std::size_t trial = 0; trial < plan.size(); ++trial) {
    const Instance instance = instance_of(job, problem, size, overrides, plan[trial]);
    const int burst = burst_that_fits(job, instance);
    make_draws(job, instance, static_cast<int64_t>(trial) * kBurst, burst);
    Watchdog::Step step(job.watchdog, "the reference of " + problem.folder_name(), kReferenceLimit);
    for (int slot = 0; slot < burst; ++slot) {
      together(job.team, [&] {
        std::string failure;
        job.reference.make_expected(slot);
        if (slot == 0 && !dumps.empty()) failure = dump_call(job, nullptr, instance, static_cast<int>(trial), dumps);
        require_own_check(job, instance, slot);  // may communicate: a rank without its file goes through it as well
        fail_after(failure);
      });
      require_telling_draws(job, instance, slot);
    }
    job.reference.drop_expected();
    ++report.trials;
  }
  return report;
}

}  // namespace pkb
