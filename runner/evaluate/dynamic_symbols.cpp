// SPDX-License-Identifier: Apache-2.0
#include "evaluate/dynamic_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/refused_libraries.h"

namespace pkb {
namespace {

constexpr std::size_t kMostEntries = 1 << 20;

/// Reads within the file's bounds only.
class Elf {
 public:
  explicit Elf(std::string_view file) : file_(file) {}

  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  /// The text that ends with a zero byte; empty outside.
  std::string text(uint64_t offset) const {
    if (offset >= file_.size()) return {};
    const std::string_view rest = file_.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

 private:
  std::string_view file_;
};

std::optional<Elf64_Ehdr> header_of(const Elf& elf) {
  const auto header = elf.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) return std::nullopt;
  return header;
}

/// Where an address of the loaded image lies in the file.
std::optional<uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
      continue;
    return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

std::vector<Elf64_Phdr> segments_of(const Elf& elf, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    if (const auto segment = elf.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr))) segments.push_back(*segment);
  }
  return segments;
}

/// What the loader itself reads, so that no missing section hides it.
std::vector<std::string> libraries_of(const Elf& elf, const std::vector<Elf64_Phdr>& segments) {
  std::vector<uint64_t> names;
  std::optional<uint64_t> strings;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::size_t i = 0; i < kMostEntries; ++i) {
      const auto entry = elf.at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
    }
  }
  std::vector<std::string> libraries;
  for (const uint64_t name : names) {
    if (strings) libraries.push_back(elf.text(*strings + name));
  }
  return libraries;
}

void read_symbols(const Elf& elf, const Elf64_Ehdr& header, DynamicSymbols& symbols) {
  const auto section = [&](std::size_t index) {
    return elf.at<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::size_t s = 0; s < header.e_shnum; ++s) {
    const auto table = section(s);
    if (!table || table->sh_type != SHT_DYNSYM) continue;
    const auto strings = section(table->sh_link);
    if (!strings) continue;
    const std::size_t count = std::min<uint64_t>(table->sh_size / sizeof(Elf64_Sym), kMostEntries);
    for (std::size_t i = 1; i < count; ++i) {
      const auto symbol = elf.at<Elf64_Sym>(table->sh_offset + i * sizeof(Elf64_Sym));
      if (!symbol) break;
      const std::string name = elf.text(strings->sh_offset + symbol->st_name);
      if (!name.empty()) (symbol->st_shndx == SHN_UNDEF ? symbols.imports : symbols.exports).push_back(name);
    }
  }
}

struct RefusedSymbols {
  std::string_view beginning, what;
};
constexpr RefusedSymbols kRefusedSymbols[] = {
    {"nccl", "NCCL"},          {"pnccl", "NCCL"},          {"_ZN2at", "LibTorch"},   {"_ZNK2at", "LibTorch"},
    {"_ZN3c10", "LibTorch"},   {"_ZNK3c10", "LibTorch"},   {"_ZN4c10d", "LibTorch"}, {"_ZNK4c10d", "LibTorch"},
    {"_ZN5torch", "LibTorch"}, {"_ZNK5torch", "LibTorch"}, {"MPI_", "MPI"},          {"PMPI_", "MPI"},
    {"ompi_", "MPI"},          {"nvshmem", "NVSHMEM"}};

std::string_view refused_symbol(std::string_view name) {
  for (const RefusedSymbols& symbols : kRefusedSymbols) {
    if (name.starts_with(symbols.beginning)) return symbols.what;
  }
  return {};
}

/// The first of `names` that `refused` has a word for, in a sentence; empty: none.
std::string refusal(const char* verb, const std::vector<std::string>& names,
                    std::string_view (*refused)(std::string_view)) {
  for (const std::string& name : names) {
    const std::string_view what = refused(name);
    if (!what.empty()) return std::string(verb) + " " + name + ": a candidate may not use " + std::string(what);
  }
  return {};
}

}  // namespace

DynamicSymbols dynamic_symbols(std::string_view file) {
  DynamicSymbols symbols;
  const Elf elf(file);
  const auto header = header_of(elf);
  if (!header) return symbols;
  symbols.libraries = libraries_of(elf, segments_of(elf, *header));
  read_symbols(elf, *header, symbols);
  return symbols;
}

std::string refused_link(const DynamicSymbols& symbols) {
  std::string why = refusal("links", symbols.libraries, refused_library);
  if (why.empty()) why = refusal("calls", symbols.imports, refused_symbol);
  if (why.empty()) why = refusal("contains", symbols.exports, refused_symbol);
  return why;
}

bool calls_copies(const DynamicSymbols& symbols) {
  return std::any_of(symbols.imports.begin(), symbols.imports.end(), [](const std::string& name) {
    const bool copies = name.starts_with("cudaMemcpy") || name.starts_with("cuMemcpy");
    return copies && (name.find("Async") != std::string::npos || name.find("Batch") != std::string::npos);
  });
}

}  // namespace pkb
