// SPDX-License-Identifier: Apache-2.0
//
// Small catalogues for tests, written as text.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catalogue/catalogue.h"
#include "core/error.h"

namespace pkb::testing {

/// Loads a text as if it were problems.yaml.
inline Catalogue load_text(const std::string& text) {
  std::string folder = (std::filesystem::temp_directory_path() / "pkb-catalogue-XXXXXX").string();
  if (!mkdtemp(folder.data())) throw Error("no temporary folder");
  const std::filesystem::path file = std::filesystem::path(folder) / "problems.yaml";
  std::ofstream(file) << text;
  struct Remover {
    std::string folder;
    ~Remover() { std::filesystem::remove_all(folder); }
  } remover{folder};
  return Catalogue::load(file);
}

/// The message of the UsageError that loading ends with; empty when there is none.
inline std::string load_error(const std::string& text) {
  try {
    load_text(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

inline const char* const kHead = R"yaml(schema_version: 1
profiles:
  H100:
    {match: ["NVIDIA H100 *HBM3"], memory_bandwidth: 3.35e12, link_bandwidth: 450e9, l2_bytes: 50e6,
     peak: {fp32: 67e12, bf16_tensor: 989.5e12}}
suites: {tp: tensor parallelism}
problems:
)yaml";

inline const char* const kHeading = R"yaml(  - id: 13
    name: gemm_allreduce
    title: A matrix product
    suites: [tp]
    domain: llm
    level: 3
)yaml";

/// A catalogue of one problem with the usual heading; `body` is indented by four.
inline Catalogue load_problem(const std::string& body) {
  return load_text(std::string(kHead) + kHeading + body);
}

/// The real catalogue.
inline const Catalogue& shipped() {
  static const Catalogue catalogue = Catalogue::load(std::filesystem::path(PKB_SOURCE_DIR) / "problems.yaml");
  return catalogue;
}

inline const Problem& shipped_problem(int id) {
  for (const Problem& problem : shipped().problems()) {
    if (problem.id == id) return problem;
  }
  throw Error("no problem " + std::to_string(id));
}

}  // namespace pkb::testing
