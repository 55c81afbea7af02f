// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "process.h"
#include "rewriter.h"
#include "tokens.h"

namespace pkb::translate {

namespace {

namespace fs = std::filesystem;

// C++20 is what the runtime's headers need; candidates are C++17 or C++20.
constexpr const char* kStandard = "-std=gnu++20";

std::string choose_compiler() {
  if (const char* const chosen = std::getenv("PKB_HOST_CXX"); chosen != nullptr && *chosen != '\0') return chosen;
  if (access(PKB_CONFIGURED_CXX, X_OK) == 0) return PKB_CONFIGURED_CXX;
  return "c++";
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int preprocess(const Options& options, const Installation& installation, const std::string& output) {
  std::vector<std::string> command = {installation.compiler, "-E", "-x", "c++", kStandard};
  for (const char* const definition : {"__CUDACC__=1", "__NVCC__=1", "__CUDA_ARCH__=900", "__CUDACC_VER_MAJOR__=12",
                                       "__CUDACC_VER_MINOR__=8", "CUDART_VERSION=12080", "PKB_HOST_CUDA=1"}) {
    command.push_back(std::string("-D") + definition);
  }
  for (const std::string& definition : options.definitions) command.push_back("-D" + definition);
  // CUDA's names are the runtime's, even where a toolkit's folder is among the given ones.
  command.push_back("-I" + installation.include + "/hostcuda/shim");
  for (const std::string& folder : options.include_folders) command.push_back("-I" + folder);
  command.insert(command.end(), {"-I" + installation.include, "-include", "cuda_runtime.h"});
  if (!options.depfile.empty()) command.insert(command.end(), {"-MD", "-MF", options.depfile, "-MT", options.output});
  command.insert(command.end(), {options.source, "-o", output});
  return run(command);
}

int compile_translated(const Options& options, const Installation& installation, const std::string& source) {
  // Appears under its name complete or not at all.
  const std::string unfinished = options.output + ".unfinished." + std::to_string(getpid());
  const int status = run(
      {installation.compiler, "-x", "c++-cpp-output", kStandard, "-O" + options.optimization, "-fPIC", "-shared", "-w",
       // What CUDA code takes for granted, and one copy of a module's statics for each that is loaded.
       "-fno-strict-aliasing", "-fwrapv", "-fno-gnu-unique", "-fno-diagnostics-show-caret", "-fno-show-column", source,
       "-L" + installation.library, "-lpkb_hostcuda", "-Wl,--no-undefined", "-Wl,-rpath," + installation.library, "-o",
       unfinished});
  if (status == 0) {
    fs::rename(unfinished, options.output);
  } else {
    std::error_code ignored;
    fs::remove(unfinished, ignored);
  }
  return status;
}

}  // namespace

Installation find_installation() {
  const fs::path root = fs::canonical("/proc/self/exe").parent_path().parent_path();
  Installation found;
  found.include = (root / "include").string();
  if (!fs::exists(root / "include/hostcuda/shim/cuda_runtime.h")) {
    throw std::runtime_error("no host device headers in " + found.include +
                             "/hostcuda: run pkb_host_nvcc where it was built or installed");
  }
  for (const char* const folder : {"lib", "lib64"}) {
    if (fs::exists(root / folder / "libpkb_hostcuda.so")) found.library = (root / folder).string();
  }
  if (found.library.empty()) throw std::runtime_error("no libpkb_hostcuda.so in " + (root / "lib").string());
  found.compiler = choose_compiler();
  return found;
}

int compile(const Options& options, const Installation& installation) {
  const TemporaryFolder folder;
  const std::string preprocessed = folder.file("preprocessed.ii"), translated = folder.file("translated.ii");
  if (const int status = preprocess(options, installation, preprocessed); status != 0) return status;
  const std::string source = read(preprocessed);
  const TokenList list = tokenize(source, installation.include + "/hostcuda/");
  const std::string result = Rewriter(source, list).run();
  if (options.translate_only) {
    options.output.empty() ? static_cast<void>(std::fwrite(result.data(), 1, result.size(), stdout))
                           : write(options.output, result);
    return 0;
  }
  write(translated, result);
  return compile_translated(options, installation, translated);
}

}  // namespace pkb::translate
