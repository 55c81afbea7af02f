// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace pkb {

struct ProgramResult {
  int status = 0;  ///< exit status; 128 + signal; -1: ran past its time and was killed
  bool ok() const { return status == 0; }
};

/// Runs a program (looked up on PATH when it holds no '/') with its output going to a file. Throws SystemError when it
/// cannot be started.
ProgramResult run_program(const std::vector<std::string>& arguments, const std::filesystem::path& output,
                          std::chrono::duration<double> limit);

/// The last `bytes` of a file, cut at a line where that is possible; empty when there is none.
std::string tail_of(const std::filesystem::path& file, std::size_t bytes);
std::string read_file(const std::filesystem::path& file);  ///< throws Error

}  // namespace pkb
