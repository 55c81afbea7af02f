// SPDX-License-Identifier: Apache-2.0
//
// Modules of kernels/host_cuda/tests, and runs of the compiler driver, for the hostcuda tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace pkb::hostcuda::testing {

/// cudaError_t values the tests expect.
enum Cuda : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kInvalidConfiguration = 9,
  kInvalidHandle = 400,
  kLaunchFailure = 719,
  kTooLarge = 720
};

/// A shared object built from kernels/host_cuda/tests/<name>.cu.
class Module {
 public:
  explicit Module(const std::string& name)
      : Module(name, std::string(PKB_BUILD_DIR) + "/tests/hostcuda/" + name + ".so") {}
  Module(const std::string& name, const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(name + ": " + dlerror());
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { dlclose(handle_); }

  template <class Function>
  Function* get(const char* name) const {
    void* const symbol = dlsym(handle_, name);
    if (symbol == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_;
};

struct ToolResult {
  int status;
  std::string text;  ///< standard output and error
};

inline ToolResult run_tool(const std::string& arguments) {
  const std::string command = std::string(PKB_BUILD_DIR) + "/bin/pkb_host_nvcc " + arguments + " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  ToolResult result{};
  std::array<char, 4096> buffer;
  while (const std::size_t bytes = fread(buffer.data(), 1, buffer.size(), pipe))
    result.text.append(buffer.data(), bytes);
  result.status = pclose(pipe) >> 8;
  return result;
}

inline std::string test_source(const std::string& name) {
  return std::string(PKB_SOURCE_DIR) + "/kernels/host_cuda/tests/" + name;
}

}  // namespace pkb::hostcuda::testing
