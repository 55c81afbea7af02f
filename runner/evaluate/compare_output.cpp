// SPDX-License-Identifier: Apache-2.0
#include "evaluate/compare_output.h"

#include <algorithm>
#include <cmath>

#include "device/element.h"

namespace pkb {
namespace {

/// A raw element as a number a person can read; of a complex one the real part.
double as_number(uint64_t bits, Dtype dtype) {
  if (dtype == Dtype::complex64) return as_number(bits & 0xFFFF'FFFF, Dtype::fp32);
  return with_dtype(dtype, [bits](auto type) -> double {
    constexpr Dtype kType = decltype(type)::value;
    const auto element = static_cast<BitsOf<kType>>(bits);
    if constexpr (kIsInteger<kType>) {
      return static_cast<double>(integer_value<kType>(element));
    } else if constexpr (kType == Dtype::complex64) {
      return 0;  // answered above
    } else {
      return real_value<kType>(element);
    }
  });
}

}  // namespace

void describe(const Device::Comparison& comparison, const TensorInstance& tensor, MismatchDetail& detail) {
  detail.output = tensor.name + (tensor.list_index >= 0 ? "[" + std::to_string(tensor.list_index) + "]" : "");
  detail.index = comparison.first;
  detail.got = as_number(comparison.got_bits, tensor.dtype);
  detail.expected = as_number(comparison.expected_bits, tensor.dtype);
  detail.wrong = comparison.wrong;
  detail.elements = comparison.elements;
}

bool output_matches(Device& device, Stream stream, const TensorInstance& output, const Tolerance& tolerance,
                    const TensorView& expected, const void* got, MismatchDetail& detail, OutputErrors& errors) {
  const int64_t elements = expected.elements();
  Device::CompareRule rule{tolerance.atol, tolerance.rtol, is_bit_for_bit(output, tolerance)};
  if (tolerance.atol_in_rms) {
    const auto sums = device.compare(expected.data, expected.data, output.dtype, elements, {}, stream);
    rule.atol *= std::sqrt(sums.squares_expected / static_cast<double>(elements));
  }
  const auto comparison = device.compare(got, expected.data, output.dtype, elements, rule, stream);
  errors.max_absolute = std::max(errors.max_absolute, comparison.max_absolute);
  errors.max_relative = std::max(errors.max_relative, comparison.max_relative);
  const bool too_far =
      tolerance.frobenius > 0 &&
      !(comparison.squares_difference <= tolerance.frobenius * tolerance.frobenius * comparison.squares_expected);
  if (comparison.wrong == 0 && !too_far) return true;
  describe(comparison, output, detail);
  return false;
}

}  // namespace pkb
