// SPDX-License-Identifier: Apache-2.0
#include "evaluate/candidate.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "evaluate/controls.h"

namespace pkb {
namespace {

namespace fs = std::filesystem;

bool is_module(const fs::path& file) {
  return file.extension() == ".so";
}
bool is_sample(const fs::path& file) {
  return file.extension() == ".cu" || is_module(file);
}

/// "x.host.so" is for the host device; a plain "x.so" is taken as it is.
bool is_for_other_device(const fs::path& file, DeviceKind device) {
  if (!is_module(file)) return false;
  const std::string marked = file.stem().extension().string();
  const std::string other = device == DeviceKind::host ? ".cuda" : ".host";
  return marked == other;
}

Candidate sample_of(const std::string& label, const fs::path& file) {
  fs::path name = file.stem();
  if (is_module(file) && (name.extension() == ".host" || name.extension() == ".cuda")) name = name.stem();
  return {label, name.string(), fs::absolute(file), {}};
}

std::string why_none_is_shipped(const Problem& problem, DeviceKind device, const Resources& resources) {
  const DeviceKind other = device == DeviceKind::host ? DeviceKind::cuda : DeviceKind::host;
  if (resources.shipped_candidate(problem, other).empty()) return "no candidate is shipped for this problem";
  return "no shipped candidate for device " + std::string(name_of(device));
}

/// Also for "folder/" and ".".
std::string folder_name_of(const fs::path& folder) {
  return fs::absolute(folder / ".").lexically_normal().parent_path().filename().string();
}

std::vector<Candidate> samples_in(const std::string& label, const fs::path& folder, DeviceKind device) {
  std::vector<Candidate> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file() || !is_sample(entry.path()) || is_for_other_device(entry.path(), device)) continue;
    found.push_back(sample_of(label, entry.path()));
  }
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.file < b.file; });
  return found;
}

constexpr std::string_view kControl = "control:";

bool names_controls(const std::string& option) {
  return option.starts_with(kControl);
}

std::vector<std::string> controls_in(const std::string& option) {
  const std::string list = option.substr(kControl.size());
  if (list == "all") return control_names();
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string name; std::getline(parts, name, ',');) {
    control_named(name);  // or throws
    names.push_back(name);
  }
  if (names.empty()) throw UsageError("--candidate control: needs a name after the colon, or 'all'");
  return names;
}

}  // namespace

std::vector<Candidate> candidates_for(const Problem& problem, const std::string& option, DeviceKind device,
                                      const Resources& resources) {
  if (option == "none") return {{"none", "", {}, {}}};
  if (names_controls(option)) {
    std::vector<Candidate> controls;
    for (const std::string& name : controls_in(option)) controls.push_back({"control:" + name, name, {}, {}, name});
    return controls;
  }
  if (option == "shipped") {
    const fs::path file = resources.shipped_candidate(problem, device);
    if (file.empty()) return {{option, "", {}, why_none_is_shipped(problem, device, resources)}};
    return {{option, "candidate", file, {}}};
  }
  const fs::path given(option);
  if (fs::is_regular_file(given)) return {sample_of(option, given)};
  const fs::path below = given / problem.folder_name();
  std::vector<Candidate> found;
  if (fs::is_directory(below)) {
    found = samples_in(option, below, device);
  } else if (folder_name_of(given) == problem.folder_name()) {
    found = samples_in(option, given, device);
  }
  if (found.empty()) return {{option, "", {}, "no .cu or .so in " + below.string()}};
  return found;
}

void check_candidate_option(const std::string& option, const std::vector<const Problem*>& selected) {
  if (option == "none" || option == "shipped") return;
  if (names_controls(option)) return static_cast<void>(controls_in(option));
  const fs::path given(option);
  if (!fs::exists(given)) {
    throw UsageError("--candidate " + option +
                     ": no such file or folder (give a .cu, a .so, a folder, 'shipped', 'none' or 'control:NAME')");
  }
  if (fs::is_directory(given)) return;
  if (!is_sample(given)) throw UsageError("--candidate " + option + ": neither a .cu nor a .so file nor a folder");
  if (selected.size() != 1) {
    throw UsageError("--candidate " + option + " is one file, but " + std::to_string(selected.size()) +
                     " problems are selected; name the one it is for with --problem");
  }
}

}  // namespace pkb
