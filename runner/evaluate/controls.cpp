// SPDX-License-Identifier: Apache-2.0
#include "evaluate/controls.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <sstream>

#include "catalogue/catalogue.h"
#include "core/error.h"
#include "evaluate/compare_output.h"
#include "evaluate/room.h"
#include "evaluate/trials.h"

namespace pkb {
namespace {

constexpr std::chrono::seconds kLimit{600};

struct Named {
  const char* option;
  const char* catalogue;
  Control control;
};
constexpr std::array kControls = {
    Named{"reference", "baseline", Control::reference},
    Named{"zeros", "zeros", Control::zeros},
    Named{"ones", "ones", Control::ones},
    Named{"input", "input", Control::input},
    Named{"stale", "stale", Control::stale},
    Named{"mute", "mute", Control::mute},
    Named{"partial", "partial", Control::partial},
    Named{"one-off", "one_off", Control::one_off},
};

std::string catalogue_name(Control control) {
  return std::ranges::find(kControls, control, &Named::control)->catalogue;
}

/// What became of one output in one case, over all of its draws and ranks.
struct Judgement {
  bool exists = false;       ///< some rank has elements of it
  bool is_wrong = false;     ///< found wrong on some rank in some draw
  bool wrong_later = false;  ///< partial: when another rank than the last is not heard
};

/// By name: a list is wrong when one of its tensors is.
using Judgements = std::map<std::string, Judgement>;

class ControlTrials {
 public:
  ControlTrials(Job& job, Control control) : job_(job), control_(control), stream_(job.device.create_stream()) {}
  ~ControlTrials() { job_.device.destroy(stream_); }
  ControlTrials(const ControlTrials&) = delete;
  ControlTrials& operator=(const ControlTrials&) = delete;

  /// Collective.
  void run(const Instance& instance, int trial) {
    const int burst = burst_that_fits(job_, instance);
    make_draws(job_, instance, static_cast<int64_t>(trial) * kBurst, burst);
    Judgements& judgements = by_case_[instance.case_name];
    for (int slot = 0; slot < burst; ++slot) {
      together(job_.team, [&] { job_.reference.make_expected(slot); });
      for (int unheard = job_.team.size() - 1; unheard >= 0; --unheard) {
        add(instance, slot, unheard, judgements);
        if (control_ != Control::partial || all_wrong(judgements)) break;
      }
    }
    job_.reference.drop_expected();
    excuse(instance);
  }

  /// Names of outputs and cases.
  std::string right() const {
    std::string text;
    for (const auto& [case_name, judgements] : by_case_) {
      for (const auto& [output, judgement] : judgements) {
        const bool passes = judgement.exists && !judgement.is_wrong;
        if (passes && !is_excused(case_name, output, judgement)) append(text, output + " in case " + case_name);
      }
    }
    return text;
  }
  std::string wrong() const {
    std::string text;
    for (const auto& [case_name, judgements] : by_case_) {
      for (const auto& [output, judgement] : judgements) {
        if (judgement.is_wrong && !excuses_.contains({case_name, output}))
          append(text, output + " in case " + case_name);
      }
    }
    return text;
  }
  std::string excused() const {
    std::string text;
    for (const auto& [place, excuse] : excuses_) {
      const Judgement& judgement = by_case_.at(place.first).at(place.second);
      if (judgement.exists && !judgement.is_wrong)
        append(text, place.second + " in case " + place.first + " (" + excuse.why + ")");
    }
    return text;
  }

 private:
  static void append(std::string& text, const std::string& part) { text += (text.empty() ? "" : ", ") + part; }

  bool all_wrong(const Judgements& judgements) const {
    return std::ranges::all_of(judgements, [](const auto& entry) {
      return !entry.second.exists || entry.second.is_wrong || entry.second.wrong_later;
    });
  }

  bool is_excused(const std::string& case_name, const std::string& output, const Judgement& judgement) const {
    const auto excuse = excuses_.find({case_name, output});
    if (excuse == excuses_.end()) return false;
    // Somebody's data must matter, unless nobody's do.
    return control_ != Control::partial || judgement.wrong_later || excuse->second.without_peers;
  }

  /// One answer of the control, on all ranks.
  void add(const Instance& instance, int slot, int unheard, Judgements& judgements) {
    const std::string mine = judge(instance, slot, unheard);
    const auto all = job_.team.all_gather(mine);
    const bool is_last = unheard == job_.team.size() - 1;
    for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
      Judgement& judgement = judgements[instance.outputs[i].name];
      for (const std::string& marks : all) {
        judgement.exists |= marks[i] != kAbsent;
        (is_last ? judgement.is_wrong : judgement.wrong_later) |= marks[i] == kWrong;
      }
    }
  }

  /// A mark an output.
  std::string judge(const Instance& instance, int slot, int unheard) {
    Watchdog::Step step(job_.watchdog, "a control of " + instance.problem->folder_name(), kLimit);
    if (!makes_answer(slot, unheard)) return std::string(instance.outputs.size(), kWrong);
    std::vector<const void*> answers;
    for (std::size_t i = 0; i < instance.outputs.size(); ++i) answers.push_back(job_.reference.control(i).data);
    const bool same_shapes = has_expected_shapes(instance);
    const bool fails_check = same_shapes && !job_.reference.check(slot, answers).empty();
    std::string marks;
    for (std::size_t i = 0; i < instance.outputs.size(); ++i) marks += mark(instance, i, fails_check);
    return marks;
  }

  /// False: what a mute rank hears makes no sense to the reference, on some rank; then there is no answer at all.
  bool makes_answer(int slot, int unheard) {
    std::string failure;
    try {
      job_.reference.make_control(control_, slot, unheard);
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (control_ == Control::mute || control_ == Control::partial) return job_.team.all(failure.empty());
    together(job_.team, [&] {
      if (!failure.empty()) throw Error(failure);
    });
    return true;
  }

  bool has_expected_shapes(const Instance& instance) const {
    bool same = true;
    for (std::size_t i = 0; i < instance.outputs.size(); ++i) {
      same = same && job_.reference.control(i).shape == job_.reference.expected(i).shape;
    }
    return job_.team.all(same);
  }

  char mark(const Instance& instance, std::size_t index, bool fails_check) {
    const TensorInstance& output = instance.outputs[index];
    const TensorView expected = job_.reference.expected(index), got = job_.reference.control(index);
    if (!expected.present() || expected.elements() == 0) {
      return got.present() && got.elements() > 0 ? kWrong : kAbsent;
    }
    if (!got.present() || got.shape != expected.shape) return kWrong;
    if (output.spec->left_to_check) return fails_check ? kWrong : kRight;
    MismatchDetail detail;
    OutputErrors errors;
    const bool right = output_matches(job_.device, stream_, output, instance.tolerances.at(output.name), expected,
                                      got.data, detail, errors);
    return right && !fails_check ? kRight : kWrong;
  }

  void excuse(const Instance& instance) {
    std::string mine;
    for (const ControlSpec* spec : instance.controls) {
      // What needs no other rank's data does not need the last one's.
      const bool without_peers = control_ == Control::partial && spec->control == "mute";
      if (spec->control != catalogue_name(control_) && !without_peers) continue;
      mine += spec->output + '\t' + (without_peers ? "1" : "0") + spec->why + '\n';
    }
    // An excuse may hold on some ranks only; one is enough, since the others must then be wrong by themselves.
    for (const std::string& theirs : job_.team.all_gather(mine)) {
      std::istringstream lines(theirs);
      for (std::string line; std::getline(lines, line);) {
        const std::size_t tab = line.find('\t');
        Excuse& excuse = excuses_[{instance.case_name, line.substr(0, tab)}];
        excuse.without_peers |= line[tab + 1] == '1';
        excuse.why = line.substr(tab + 2);
      }
    }
  }

  struct Excuse {
    std::string why;
    bool without_peers = false;  ///< partial: the output needs nobody else's data
  };

  static constexpr char kAbsent = '-', kRight = 'r', kWrong = 'w';
  Job& job_;
  const Control control_;
  const Stream stream_;
  std::map<std::string, Judgements> by_case_;
  std::map<std::pair<std::string, std::string>, Excuse> excuses_;  ///< by (case, output)
};

}  // namespace

CorrectnessReport check_control(Job& job, const Problem& problem, const std::string& size, const Overrides& overrides,
                                Control control) {
  CorrectnessReport report;
  ControlTrials trials(job, control);
  const auto plan = plan_trials(cases_of(problem, size, overrides, job.team.size()), job.options.trials);
  for (const int case_index : plan) {
    trials.run(instance_of(job, problem, size, overrides, case_index), report.trials++);
  }
  if (control == Control::reference) {
    const std::string wrong = trials.wrong();
    if (!wrong.empty()) throw EvaluationEnded({"mismatch", "the reference again is wrong: " + wrong, -1, {}});
    return report;
  }
  const std::string right = trials.right(), excused = trials.excused();
  if (!right.empty()) throw EvaluationEnded({"passed", "this control must be wrong, but is right: " + right, -1, {}});
  throw EvaluationEnded({"mismatch", excused.empty() ? "wrong, as it must be" : "wrong but for " + excused, -1, {}});
}

Control control_named(const std::string& name) {
  for (const Named& known : kControls) {
    if (name == known.option) return known.control;
  }
  const std::string near = nearest(name, control_names());
  throw UsageError("unknown control '" + name + "'" + (near.empty() ? "" : "; did you mean " + near + "?"));
}

std::vector<std::string> control_names() {
  std::vector<std::string> names;
  for (const Named& known : kControls) names.emplace_back(known.option);
  return names;
}

}  // namespace pkb
