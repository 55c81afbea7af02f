// SPDX-License-Identifier: Apache-2.0
#include "team/launch.h"

#include <unistd.h>

#include <charconv>
#include <map>
#include <utility>

namespace pkb {
namespace {

std::optional<int> number(const Lookup& lookup, std::string_view name) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

struct Claim {
  std::string variable;
  int ranks = 0;
};

/// How many ranks the innermost launcher started. An outer Slurm step counts mpirun's daemons, so it is asked last.
std::optional<Claim> claim_of(const Lookup& lookup) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const auto ranks = number(lookup, variable)) return Claim{variable, *ranks};
  }
  if (lookup("SLURM_STEP_ID")) {
    for (const char* variable : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
      if (const auto ranks = number(lookup, variable)) return Claim{variable, *ranks};
    }
  }
  if (const auto rank = number(lookup, "PMIX_RANK")) return Claim{"PMIX_RANK", *rank + 1};
  return std::nullopt;
}

}  // namespace

Lookup environment_snapshot() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

std::string why_singleton(int mpi_size, const Lookup& lookup) {
  const std::optional<Claim> claim = claim_of(lookup);
  if (!claim || claim->ranks <= mpi_size) return {};
  return "MPI sees " + std::to_string(mpi_size) + (mpi_size == 1 ? " rank" : " ranks") + ", but the launcher started " +
         std::to_string(claim->ranks) + " (" + claim->variable +
         "): it does not speak to the MPI that pkb was built with. Start pkb with that MPI's mpirun, or under Slurm "
         "with "
         "srun --mpi=pmix";
}

}  // namespace pkb
