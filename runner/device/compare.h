// SPDX-License-Identifier: Apache-2.0
//
// The comparison of two elements, added to a running total, and the sum of two totals. One pass over both tensors,
// nothing of a tensor's size is stored.
#pragma once

#include <cmath>
#include <cstdint>

#include "device/device.h"
#include "device/element.h"

namespace pkb {

using Comparison = Device::Comparison;
using CompareRule = Device::CompareRule;

PKB_HD inline bool is_finite(double value) {
  return (bit_copy<uint64_t>(value) << 1) <
         (0x7ffull << 53);  // the same bits on host and GPU, and under any -ffast flag
}
PKB_HD inline bool is_nan(double value) {
  return (bit_copy<uint64_t>(value) << 1) > (0x7ffull << 53);
}

/// Equal infinities are equal, +0 equals -0, an expected NaN must be NaN.
PKB_HD inline bool is_close(double got, double expected, const CompareRule& rule) {
  if (is_nan(expected)) return is_nan(got);
  if (!is_finite(expected) || !is_finite(got)) return got == expected;
  return fabs(got - expected) <= rule.atol + rule.rtol * fabs(expected);
}

/// The statistics of two finite numbers, `difference` and `magnitude` (of the expected) not negative.
PKB_HD inline void add_difference(Comparison& total, double difference, double magnitude) {
  if (difference > total.max_absolute) total.max_absolute = difference;
  // An expected 0 has no relative error. The product spares the division in all but a few elements.
  if (magnitude > 0 && difference > total.max_relative * magnitude) total.max_relative = difference / magnitude;
  total.squares_difference += difference * difference;
  total.squares_expected += magnitude * magnitude;
}

/// Elements come in growing order of `index` within one total.
PKB_HD inline void add_wrong(Comparison& total, int64_t index) {
  ++total.wrong;
  if (total.first < 0) total.first = index;
}

PKB_HD inline uint64_t distance(int64_t a, int64_t b) {
  const uint64_t difference = static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
  return a >= b ? difference : 0 - difference;
}

template <Dtype D>
PKB_HD inline void compare_integer(Comparison& total, BitsOf<D> got, BitsOf<D> expected, int64_t index,
                                   const CompareRule& rule) {
  const int64_t value = integer_value<D>(expected);
  const double difference = static_cast<double>(distance(integer_value<D>(got), value));
  const double magnitude = static_cast<double>(distance(value, 0));
  // distance() is exact and a double is 0 only for 0: a rule of zeros is equality even beyond 2^53.
  const bool right = got == expected || (!rule.bitwise && difference <= rule.atol + rule.rtol * magnitude);
  if (!right) add_wrong(total, index);
  add_difference(total, difference, magnitude);
}

template <Dtype D>
PKB_HD inline void compare_real(Comparison& total, BitsOf<D> got, BitsOf<D> expected, int64_t index,
                                const CompareRule& rule) {
  const double value = real_value<D>(got), wanted = real_value<D>(expected);
  const bool right = rule.bitwise ? got == expected : is_close(value, wanted, rule);
  if (!right) add_wrong(total, index);
  if (!is_finite(wanted)) return;
  if (is_finite(value)) {
    add_difference(total, fabs(value - wanted), fabs(wanted));
  } else {
    ++total.not_finite;
  }
}

/// The magnitude of the difference decides. When a component is not finite each component is judged by itself.
PKB_HD inline void compare_complex(Comparison& total, uint64_t got, uint64_t expected, int64_t index,
                                   const CompareRule& rule) {
  const double real = real_value<Dtype::fp32>(static_cast<uint32_t>(got));
  const double imaginary = real_value<Dtype::fp32>(static_cast<uint32_t>(got >> 32));
  const double wanted_real = real_value<Dtype::fp32>(static_cast<uint32_t>(expected));
  const double wanted_imaginary = real_value<Dtype::fp32>(static_cast<uint32_t>(expected >> 32));
  const bool wanted_finite = is_finite(wanted_real) && is_finite(wanted_imaginary);
  const bool finite = is_finite(real) && is_finite(imaginary);
  if (!wanted_finite || !finite) {
    const bool close = is_close(real, wanted_real, rule) && is_close(imaginary, wanted_imaginary, rule);
    if (rule.bitwise ? got != expected : !close) add_wrong(total, index);
    if (wanted_finite) ++total.not_finite;
    return;
  }
  const double dr = real - wanted_real, di = imaginary - wanted_imaginary;
  const double difference = sqrt(dr * dr + di * di);
  const double magnitude = sqrt(wanted_real * wanted_real + wanted_imaginary * wanted_imaginary);
  const bool right = rule.bitwise ? got == expected : difference <= rule.atol + rule.rtol * magnitude;
  if (!right) add_wrong(total, index);
  add_difference(total, difference, magnitude);
}

template <Dtype D>
PKB_HD inline void compare_element(Comparison& total, BitsOf<D> got, BitsOf<D> expected, int64_t index,
                                   const CompareRule& rule) {
  if constexpr (kIsInteger<D>) {
    compare_integer<D>(total, got, expected, index, rule);
  } else if constexpr (D == Dtype::complex64) {
    compare_complex(total, got, expected, index, rule);
  } else {
    compare_real<D>(total, got, expected, index, rule);
  }
}

/// Adds a part of the same comparison. `elements` and the bits of the first wrong element are the caller's.
PKB_HD inline void merge(Comparison& total, const Comparison& part) {
  total.wrong += part.wrong;
  if (part.first >= 0 && (total.first < 0 || part.first < total.first)) total.first = part.first;
  if (part.max_absolute > total.max_absolute) total.max_absolute = part.max_absolute;
  if (part.max_relative > total.max_relative) total.max_relative = part.max_relative;
  total.not_finite += part.not_finite;
  total.squares_difference += part.squares_difference;
  total.squares_expected += part.squares_expected;
}

}  // namespace pkb
