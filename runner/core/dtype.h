// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pkb {

/// Element types. The values are those of pkb_dtype in pkb/candidate.h.
enum class Dtype : int32_t { bf16 = 1, fp16, fp32, fp64, fp8_e4m3, i32, i64, u8, boolean, complex64 };

std::size_t size_of(Dtype dtype);
std::string_view name_of(Dtype dtype);  ///< as the catalogue writes it: bf16 ... bool complex64
std::optional<Dtype> dtype_named(std::string_view name);
bool is_floating(Dtype dtype);  ///< also complex64: poisoned with NaN, compared with a tolerance

}  // namespace pkb
