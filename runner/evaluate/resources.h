// SPDX-License-Identifier: Apache-2.0
//
// Where the programs find their data: relative to the executable, the same in the build tree and in an installation.
#pragma once

#include <filesystem>
#include <string_view>

#include "catalogue/problem.h"
#include "device/device.h"

namespace pkb {

class Resources {
 public:
  /// From /proc/self/exe.
  static Resources of_this_program();

  std::filesystem::path program(std::string_view name) const { return root_ / "bin" / name; }
  std::filesystem::path catalogue() const { return root_ / "share/pkb/problems.yaml"; }
  std::filesystem::path include() const { return root_ / "include"; }
  std::filesystem::path reference(const Problem& problem) const;
  /// The shipped candidate, or an empty path when this problem or device has none.
  std::filesystem::path shipped_candidate(const Problem& problem, DeviceKind device) const;

 private:
  explicit Resources(std::filesystem::path root) : root_(std::move(root)) {}
  std::filesystem::path root_;
};

}  // namespace pkb
