// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace pkb::translate {

/// Runs a program found by PATH with this process's standard streams, without a shell; returns its exit status, 128 +
/// the signal when one ended it, 127 when it cannot be started.
int run(const std::vector<std::string>& command);

/// A folder of its own under TMPDIR, removed with all it holds at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace pkb::translate
