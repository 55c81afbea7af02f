// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"

namespace pkb {
namespace {

struct Entry {
  Dtype dtype;
  std::string_view name;
  std::size_t bytes;
  bool floating;
};

constexpr std::array<Entry, 10> kEntries{{
    {Dtype::bf16, "bf16", 2, true},
    {Dtype::fp16, "fp16", 2, true},
    {Dtype::fp32, "fp32", 4, true},
    {Dtype::fp64, "fp64", 8, true},
    {Dtype::fp8_e4m3, "fp8_e4m3", 1, true},
    {Dtype::i32, "i32", 4, false},
    {Dtype::i64, "i64", 8, false},
    {Dtype::u8, "u8", 1, false},
    {Dtype::boolean, "bool", 1, false},
    {Dtype::complex64, "complex64", 8, true},
}};

const Entry& entry_of(Dtype dtype) {
  const auto found = std::ranges::find(kEntries, dtype, &Entry::dtype);
  if (found == kEntries.end()) throw Error("unknown dtype number " + std::to_string(static_cast<int32_t>(dtype)));
  return *found;
}

}  // namespace

std::size_t size_of(Dtype dtype) {
  return entry_of(dtype).bytes;
}
std::string_view name_of(Dtype dtype) {
  return entry_of(dtype).name;
}
bool is_floating(Dtype dtype) {
  return entry_of(dtype).floating;
}

std::optional<Dtype> dtype_named(std::string_view name) {
  const auto found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) return std::nullopt;
  return found->dtype;
}

}  // namespace pkb
