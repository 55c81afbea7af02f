// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/problem.h"

namespace pkb {

/// Everything that problems.yaml says, validated. Errors are UsageError: "problems.yaml:LINE: problem 13: what, and
/// what to do".
class Catalogue {
 public:
  static Catalogue load(const std::filesystem::path& file);

  const std::vector<Problem>& problems() const { return problems_; }            ///< by id
  const std::map<std::string, std::string>& suites() const { return suites_; }  ///< name -> description; "all" included
  const std::map<std::string, Profile>& profiles() const { return profiles_; }
  const Profile& profile_named(const std::string& name) const;  ///< throws UsageError with the nearest valid name
  const Profile* profile_for_device(std::string_view device_name) const;  ///< null: none matches

 private:
  std::vector<Problem> problems_;
  std::map<std::string, std::string> suites_;
  std::map<std::string, Profile> profiles_;
};

/// What the command line selects. Problems by id ("13"), name, range ("1-8"), glob ("*gemm*"), comma lists of these.
/// Unknown names throw UsageError with the nearest valid name.
struct Selection {
  std::vector<std::string> suites{}, problems{}, domains{}, exclude{};
  std::vector<int> levels{};
};
std::vector<const Problem*> select(const Catalogue& catalogue, const Selection& selection);

/// Overrides of parameters from --set. Unknown names for a problem throw UsageError (nearest name suggested).
using Overrides = std::map<std::string, double>;

/// Why this problem cannot run with this W at this size ("needs K divisible by W; K = 100, W = 3"); empty: it can.
std::string why_illegal(const Problem& problem, std::string_view size, const Overrides& overrides, int world);

/// The cases of a problem that exist at this W, by index into problem.cases.
std::vector<int> cases_of(const Problem& problem, std::string_view size, const Overrides& overrides, int world);

Instance make_instance(const Problem& problem, std::string_view size, const Overrides& overrides, int world, int rank,
                       int case_index);

/// The scalars of one draw of an instance's case: as in the instance, with those that change from draw to draw
/// evaluated.
std::map<std::string, Scalar, std::less<>> scalars_of_draw(const Instance& instance, int64_t draw);

/// Does what is passed by value, scalars or numbers of rows, change from draw to draw? A captured graph keeps it.
bool arguments_change(const Instance& instance);

/// Phases evaluated for the default case.
std::vector<PhaseInstance> phases_of(const Problem& problem, std::string_view size, const Overrides& overrides,
                                     int world);

struct Roofline {
  double seconds = 0;               ///< sum over phases of the slowest resource
  double floor_seconds = 0;         ///< maximum over resources of their totals: what no kernel can beat
  double floor_without_memory = 0;  ///< the same without HBM, for inputs that may sit in the L2
  std::string bound;                ///< "compute", "memory" or "link": what takes most of `seconds`
  double flops = 0, mem_bytes = 0, comm_bytes = 0;
};
Roofline roofline(const std::vector<PhaseInstance>& phases, const Profile& profile, bool multicast);

/// The candidate of `valid` nearest to `name` by edit distance, for "did you mean"; empty when nothing is near.
std::string nearest(std::string_view name, const std::vector<std::string>& valid);

}  // namespace pkb
