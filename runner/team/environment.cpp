// SPDX-License-Identifier: Apache-2.0
#include "team/environment.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pkb {
namespace {

constexpr std::array<std::string_view, 14> kLaunchers{"OMPI_", "ORTE_", "OPAL_",  "PMIX_", "PMI_",  "PMI2_", "PRTE_",
                                                      "SLURM", "MPI",   "I_MPI_", "MPICH", "HYDRA", "MV2_",  "UCX_"};
constexpr std::array<std::string_view, 7> kSecrets{"TOKEN", "SECRET",     "PASSWORD", "PASSWD",
                                                   "KEY",   "CREDENTIAL", "AUTH"};

}  // namespace

bool is_for_workers(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool of_launcher =
      std::ranges::any_of(kLaunchers, [&](std::string_view start) { return upper.starts_with(start); });
  const bool secret =
      std::ranges::any_of(kSecrets, [&](std::string_view part) { return upper.find(part) != std::string::npos; });
  return !of_launcher && !secret && upper != "PKB_SEED";
}

std::vector<std::string> worker_environment(const char* const* environment) {
  constexpr std::string_view kLoading = "CUDA_MODULE_LOADING";
  std::vector<std::string> kept;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (is_for_workers(name) && name != kLoading) kept.emplace_back(entry);
  }
  kept.push_back(std::string(kLoading) + "=EAGER");
  return kept;
}

}  // namespace pkb
