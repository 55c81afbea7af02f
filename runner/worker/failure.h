// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace pkb {

/// A request that the worker could not serve, as its reply says it.
class Failure : public std::runtime_error {
 public:
  Failure(std::string kind, const std::string& reason) : std::runtime_error(reason), kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }  ///< load_error, setup_error, runtime_error, harness_error

 private:
  std::string kind_;
};

}  // namespace pkb
