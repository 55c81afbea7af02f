// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "catalogue/problem.h"
#include "device/device.h"
#include "evaluate/resources.h"

namespace pkb {

/// One sample that is to be judged.
struct Candidate {
  std::string label;           ///< as given: a folder or file; "shipped"; "none"; "control:NAME"
  std::string sample;          ///< file name without its ending
  std::filesystem::path file;  ///< .cu or .so; empty: reference only
  std::string missing;    ///< why there is nothing to judge ("no shipped candidate for the host device"); a skipped row
  std::string control{};  ///< the control that takes a candidate's place; empty: there is none
  bool none() const { return file.empty() && missing.empty() && control.empty(); }
};

/// What `--candidate` names for a problem: "shipped", "none", "control:NAME,..." or "control:all", a file (then only
/// one problem may be selected), or a folder that holds NN_name/ folders (or the files themselves when it is such a
/// folder), every .cu or .so in it a sample. A .so for another device (x.host.so, x.cuda.so) is passed over.
std::vector<Candidate> candidates_for(const Problem& problem, const std::string& option, DeviceKind device,
                                      const Resources& resources);

/// Throws UsageError for an unknown control, and for a path that does not exist or cannot go with the selected
/// problems.
void check_candidate_option(const std::string& option, const std::vector<const Problem*>& selected);

}  // namespace pkb
