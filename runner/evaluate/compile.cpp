// SPDX-License-Identifier: Apache-2.0
#include "evaluate/compile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "evaluate/program.h"
#include "evaluate/sha256.h"

namespace pkb {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::minutes kCompileLimit{10};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The libraries that a line `// pkb-link: cublas cublasLt` in the source names.
std::vector<std::string> link_flags(const std::string& source) {
  constexpr std::string_view kMark = "// pkb-link:";
  std::vector<std::string> flags;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kMark)) continue;
    std::istringstream words(line.substr(kMark.size()));
    for (std::string word; words >> word;) flags.push_back("-l" + word);
    break;
  }
  return flags;
}

std::vector<std::string> compiler_for(const DeviceFacts& device, const Resources& resources) {
  if (device.kind == DeviceKind::host) return {resources.program("pkb_host_nvcc").string()};
  const std::string nvcc = environment("PKB_NVCC").empty() ? PKB_NVCC_PATH : environment("PKB_NVCC");
  const std::string sm = std::to_string(device.cc_major * 10 + device.cc_minor) + (device.cc_major >= 9 ? "a" : "");
  return {fs::exists(nvcc) ? nvcc : "nvcc",
          "-std=c++20",
          "-O3",
          "-lineinfo",
          "-shared",
          "-cudart",
          "shared",
          "-Xcompiler=-fPIC",
          "-gencode",
          "arch=compute_" + sm + ",code=sm_" + sm};
}

/// Everything that decides what comes out: the source, the toolkit's headers, compiler and flags.
std::string cache_key(const std::string& source, const std::vector<std::string>& command, const Resources& resources) {
  std::string all = source;
  for (const std::string& word : command) all += '\n' + word;
  std::vector<fs::path> headers;
  for (const char* folder : {"pkb", "hostcuda"}) {
    const fs::path root = resources.include() / folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::follow_directory_symlink)) {
      if (entry.is_regular_file()) headers.push_back(entry.path());
    }
  }
  std::sort(headers.begin(), headers.end());
  for (const fs::path& header : headers) all += read_file(header);
  return sha256(all);
}

std::string first_error_line(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos) return line.substr(0, 300);
  }
  return log.substr(0, log.find('\n'));
}

Compiled compile_here(const fs::path& file, const DeviceFacts& device, const Resources& resources) {
  Compiled result;
  const std::string source = read_file(file);
  result.sha256 = sha256(source);
  if (file.extension() == ".so") {
    result.module = file;
    return result;
  }
  auto command = compiler_for(device, resources);
  command.push_back("-I" + resources.include().string());
  if (device.kind == DeviceKind::cuda) {
    for (const std::string& flag : link_flags(source)) command.push_back(flag);
  }
  const fs::path folder = module_cache();
  fs::create_directories(folder);
  const fs::path module = folder / (cache_key(source, command, resources) + ".so");
  if (fs::exists(module)) {
    result.module = module;
    return result;
  }
  const std::string unique = module.string() + "." + std::to_string(getpid());
  const fs::path log = unique + ".log", fresh = unique + ".tmp";
  command.insert(command.end(), {"-o", fresh.string(), file.string()});
  const ProgramResult run = run_program(command, log, kCompileLimit);
  result.log_tail = tail_of(log, 2048);
  if (run.ok()) {
    fs::rename(fresh, module);
    result.module = module;
  } else {
    result.reason = run.status < 0 ? "the compiler ran longer than 10 minutes" : first_error_line(read_file(log));
    fs::remove(fresh);
  }
  fs::remove(log);
  return result;
}

}  // namespace

fs::path module_cache() {
  if (const auto folder = environment("PKB_CACHE_DIR"); !folder.empty()) return fs::path(folder) / "modules";
  if (const auto folder = environment("XDG_CACHE_HOME"); !folder.empty()) return fs::path(folder) / "pkb/modules";
  if (const auto folder = environment("HOME"); !folder.empty()) return fs::path(folder) / ".cache/pkb/modules";
  return fs::temp_directory_path() / ("pkb-modules-" + std::to_string(getuid()));
}

Compiled compile_candidate(Team& team, const fs::path& file, const DeviceFacts& device, const Resources& resources) {
  Compiled mine;
  std::string harness_error;
  if (team.place().local_rank == 0) {
    try {
      mine = compile_here(file, device, resources);
    } catch (const std::exception& error) {
      harness_error = error.what();
    }
  }
  const nlohmann::json contribution{{"module", mine.module.string()},
                                    {"sha256", mine.sha256},
                                    {"reason", mine.reason},
                                    {"log", mine.log_tail},
                                    {"error", harness_error}};
  const auto all = team.all_gather(contribution.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  Compiled result;
  // Every node compiles for itself; one that fails fails for all.
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (team.places()[rank].local_rank != 0) continue;
    const auto report = nlohmann::json::parse(all[rank]);
    if (const std::string error = report["error"]; !error.empty())
      throw Error("compiling " + file.string() + ": " + error);
    const bool is_mine = team.places()[rank].node == team.place().node;
    const std::string module = report["module"];
    if (is_mine || module.empty()) {
      result = {module, report["sha256"], report["reason"], report["log"]};
    }
    if (module.empty()) break;
  }
  return result;
}

}  // namespace pkb
