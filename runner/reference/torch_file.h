// SPDX-License-Identifier: Apache-2.0
//
// Files that Python's torch.load(path, weights_only=True) opens. LibTorch's own pickler tags dictionaries with their
// types, which weights_only refuses, and knows no storage of fp8; the container around it is LibTorch's.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pkb {

struct TorchValue;
using TorchList = std::vector<TorchValue>;
using TorchDict = std::vector<std::pair<std::string, TorchValue>>;  ///< written in this order

/// None, bool, int, float, str, tensor, list or dict with str keys. An undefined tensor is None.
struct TorchValue : std::variant<std::monostate, bool, int64_t, double, std::string, at::Tensor, TorchList, TorchDict> {
  using variant::variant;
};

/// Tensors may lie on any device; dense ones keep their strides. The file appears under its name when it is complete.
/// Throws Error naming the file.
void write_torch_file(const std::filesystem::path& file, const TorchValue& root);

}  // namespace pkb
