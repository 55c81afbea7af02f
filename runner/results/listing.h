// SPDX-License-Identifier: Apache-2.0
//
// What the catalogue holds, for people and scripts: `pkb_runner --list`, `pkb list`, `pkb show`. Comments start with
// '#', columns are separated by at least two spaces, the title comes last.
#pragma once

#include <iosfwd>
#include <vector>

#include "catalogue/catalogue.h"
#include "options/options.h"

namespace pkb {

struct ListingOptions {
  bool verbose = false;                  ///< under each problem: parameters and costs of every size, and the cases
  int world = 4;                         ///< costs are for this many ranks ...
  std::vector<const Profile*> profiles;  ///< ... and the roofline's time is given for each of these
  bool multicast = false;
  Overrides overrides;  ///< applied where a problem has such a parameter
};

/// One line a problem.
void list_problems(std::ostream& out, const std::vector<const Problem*>& problems, const ListingOptions& options);

/// Everything about one problem.
void show_problem(std::ostream& out, const Problem& problem, const ListingOptions& options);

/// What `options` select and ask for, a line a problem: `pkb_runner --list` and `pkb list`.
void show_list(std::ostream& out, const Catalogue& catalogue, const Options& options);

/// With the costs for the profile that `options` name, or else for all. Throws UsageError for an unknown one.
ListingOptions listing_options(const Catalogue& catalogue, const Options& options);

}  // namespace pkb
