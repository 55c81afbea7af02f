// SPDX-License-Identifier: Apache-2.0
//
// What the catalogue holds, for people and scripts: `pkb_runner --list`, `pkb list`, `pkb show`. Comments start with
// '#', columns are separated by at least two spaces, the title comes last.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"

namespace pkb {

struct ListingOptions {
  bool verbose = false;                  ///< under each problem: parameters and costs of every size, and the cases
  int world = 4;                         ///< costs are for this many ranks ...
  std::vector<const Profile*> profiles;  ///< ... and the roofline's time is given for each of these
  bool multicast = false;
  Overrides overrides;  ///< applied where a problem has such a parameter
};

/// Throws UsageError with the nearest name.
const Profile& profile_named(const Catalogue& catalogue, const std::string& name);

/// One line a problem.
void list_problems(std::ostream& out, const std::vector<const Problem*>& problems, const ListingOptions& options);

/// Everything about one problem.
void show_problem(std::ostream& out, const Problem& problem, const ListingOptions& options);

}  // namespace pkb
