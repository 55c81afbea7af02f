// SPDX-License-Identifier: Apache-2.0
#include "worker/candidate_module.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <vector>

#include "core/refused_libraries.h"

namespace pkb {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "add this machine's ELF number"
#endif

[[noreturn]] void refuse(const std::string& reason) {
  throw Failure("load_error", reason);
}

/// The loader's own words for a wrong file are obscure; these say what the file is.
void check_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("cannot read " + path + ": " + std::strerror(errno));
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_elf = file.gcount() >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf) refuse(path + " is no shared object: it is not an ELF file");
  if (file.gcount() != sizeof header) refuse(path + " is no shared object: it is cut off after its first bytes");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    refuse(path + " was built for another kind of machine");
  }
  if (header.e_type != ET_DYN) refuse(path + " is an ELF file but no shared object: link it with -shared");
}

void* open_library(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const text = ::dlerror();
  refuse("cannot be loaded: " + std::string(text ? text : "the loader does not say why"));
}

template <class Function>
void find(void* library, const char* name, Function& function, std::vector<std::string>& missing) {
  void* const address = ::dlsym(library, name);
  if (address == nullptr) {
    missing.emplace_back(name);
    return;
  }
  std::memcpy(&function, &address, sizeof address);  // what POSIX asks of dlsym: a function pointer is no void*
}

void refuse_missing(const std::vector<std::string>& missing, const std::string& remedy) {
  if (missing.empty()) return;
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  refuse("does not export " + names + ": " + remedy);
}

}  // namespace

CandidateModule::CandidateModule(const std::string& path) {
  check_file(path);
  void* const library = open_library(path);
  std::vector<std::string> missing;
  int (*abi_version)() = nullptr;
  find(library, "pkb_abi_version", abi_version, missing);
  find(library, "pkb_last_error", last_error_, missing);
  refuse_missing(missing, "include pkb/candidate.h, which defines it, and compile with nvcc or pkb's host compiler");
  if (const int version = abi_version(); version != PKB_ABI_VERSION) {
    refuse("was built for version " + std::to_string(version) + " of the candidate ABI, this pkb has version " +
           std::to_string(PKB_ABI_VERSION) + ": compile it again with this pkb's headers");
  }
  find(library, "pkb_setup", setup_, missing);
  find(library, "pkb_run", run_, missing);
  find(library, "pkb_teardown", teardown_, missing);
  refuse_missing(missing, "define it as pkb/candidate.h declares it (extern \"C\")");
}

void CandidateModule::setup(const pkb_context* context, const pkb_arguments* arguments, void** state) const {
  int code = 0;
  try {
    code = setup_(context, arguments, state);
  } catch (...) {
    rethrow_as_failure("setup_error", "pkb_setup");
  }
  if (code != 0) refuse_code("setup_error", "pkb_setup", code);
}

void CandidateModule::teardown(void* state) const {
  try {
    teardown_(state);
  } catch (...) {
    rethrow_as_failure("runtime_error", "pkb_teardown");
  }
}

void CandidateModule::refuse_loaded_libraries() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        if (info->dlpi_name == nullptr || refused_library(info->dlpi_name).empty()) return 0;
        *static_cast<std::string*>(result) = info->dlpi_name;
        return 1;
      },
      &found);
  if (found.empty()) return;
  throw Failure("cheated", "loaded " + found + ": a candidate may not use " + std::string(refused_library(found)));
}

std::string CandidateModule::take_error() const {
  const char* text = nullptr;
  const int code = last_error_(&text);
  if (code == 0) return {};
  return (text ? std::string(text) : std::string("unknown error")) + " (CUDA error " + std::to_string(code) + ")";
}

void CandidateModule::rethrow_as_failure(const char* kind, const std::string& what) {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {  // pthread_exit or cancellation, which must not be swallowed
    throw;
  } catch (const std::exception& error) {
    throw Failure(kind, what + " threw an exception: " + error.what());
  } catch (...) {
    throw Failure(kind, what + " threw an exception");
  }
}

void CandidateModule::refuse_code(const char* kind, const std::string& what, int code) {
  throw Failure(kind, what + " returned " + std::to_string(code));
}

}  // namespace pkb
