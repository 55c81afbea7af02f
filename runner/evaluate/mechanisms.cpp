// SPDX-License-Identifier: Apache-2.0
#include "evaluate/mechanisms.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <istream>
#include <iterator>
#include <sstream>

#include "core/error.h"
#include "evaluate/program.h"

namespace pkb {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kLimit{60};

/// Beside the compiler where there is one, else wherever PATH finds it.
std::string disassembler() {
  const char* const nvcc = std::getenv("PKB_NVCC");
  const fs::path beside = fs::path(nvcc && *nvcc ? nvcc : PKB_NVCC_PATH).parent_path() / "cuobjdump";
  return fs::exists(beside) ? beside.string() : "cuobjdump";
}

std::set<std::string> disassemble(const fs::path& module, const DeviceFacts& device, const fs::path& scratch) {
  const std::string sm = "sm_" + std::to_string(device.cc_major * 10 + device.cc_minor);
  for (const std::string& arch : {sm + "a", sm}) {
    const ProgramResult run = run_program({disassembler(), "-sass", "-arch", arch, module.string()}, scratch, kLimit);
    if (!run.ok()) continue;
    std::ifstream listing(scratch);
    if (auto found = mechanisms_in(listing); !found.empty()) return found;
  }
  return {};
}

}  // namespace

std::set<std::string> mechanisms_in(std::istream& listing) {
  struct Sign {
    const char *opcode, *mechanism;
  };
  static constexpr Sign kSigns[] = {{".STRONG.SYS", "sm"}, {"UBLKCP", "tma"},  {"UBLKRED", "tma"},
                                    {"UTMALDG", "tma"},    {"UTMASTG", "tma"}, {"UTMAREDG", "tma"},
                                    {"LDGMC", "multicast"}};
  std::set<std::string> found;
  for (std::string line; std::getline(listing, line);) {
    for (const Sign& sign : kSigns) {
      if (line.find(sign.opcode) != std::string::npos) found.insert(sign.mechanism);
    }
  }
  return found;
}

std::vector<std::string> find_mechanisms(const fs::path& module, const DynamicSymbols& symbols,
                                         const DeviceFacts& device, const fs::path& cache, const std::string& key,
                                         std::string& why_not) {
  const fs::path kept = cache / (key + ".mechanisms");
  std::set<std::string> found;
  if (std::ifstream file(kept); file) {
    found.insert(std::istream_iterator<std::string>(file), {});
  } else {
    const fs::path fresh = kept.string() + "." + std::to_string(getpid());
    try {
      fs::create_directories(cache);
      found = disassemble(module, device, fresh);
      std::ofstream words(fresh);
      for (const std::string& word : found) words << word << '\n';
      words.close();
      fs::rename(fresh, kept);
    } catch (const std::exception& error) {
      why_not = error.what();
      return {};
    }
  }
  if (calls_copies(symbols)) found.insert("copy_engine");
  return {found.begin(), found.end()};
}

}  // namespace pkb
