// SPDX-License-Identifier: Apache-2.0
#include "evaluate/resources.h"

#include <string>

namespace pkb {

Resources Resources::of_this_program() {
  return Resources(std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path());
}

std::filesystem::path Resources::reference(const Problem& problem) const {
  return root_ / "lib/pkb" / problem.folder_name() / "reference.so";
}

std::filesystem::path Resources::shipped_candidate(const Problem& problem, DeviceKind device) const {
  const auto file = root_ / "lib/pkb" / problem.folder_name() / ("candidate." + std::string(name_of(device)) + ".so");
  return std::filesystem::exists(file) ? file : std::filesystem::path{};
}

}  // namespace pkb
