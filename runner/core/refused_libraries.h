// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace pkb {

/// A library that does what a candidate is to do itself.
struct RefusedLibrary {
  std::string_view beginning;  ///< of its file name
  std::string_view what;
};
inline constexpr RefusedLibrary kRefusedLibraries[] = {
    {"libnccl", "NCCL"},    {"libtorch", "LibTorch"}, {"libc10", "LibTorch"},    {"libmpi", "MPI"},
    {"libopen-rte", "MPI"}, {"libopen-pal", "MPI"},   {"libnvshmem", "NVSHMEM"},
};

/// What the library in this file is, where it is refused; else empty.
constexpr std::string_view refused_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const RefusedLibrary& library : kRefusedLibraries) {
    if (name.starts_with(library.beginning)) return library.what;
  }
  return {};
}

}  // namespace pkb
