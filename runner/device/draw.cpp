// SPDX-License-Identifier: Apache-2.0
#include "device/draw.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace pkb {
namespace {

using Distribution = Device::Distribution;

constexpr double kLargestInteger = 9007199254740992.0;  // 2^53: integers up to here are exact in a double

std::string_view name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::normal:
      return "normal";
    case Distribution::uniform:
      return "uniform";
    case Distribution::integers:
      return "integers";
    case Distribution::ternary:
      return "ternary";
    case Distribution::constant:
      break;
  }
  return "constant";
}

bool is_integer(Dtype dtype) {
  return with_dtype(dtype, [](auto tag) { return kIsInteger<decltype(tag)::value>; });
}

/// Whether every integer of [low, high] is an element of an integer dtype.
bool holds(Dtype dtype, double low, double high) {
  switch (dtype) {
    case Dtype::i32:
      return low >= -0x1p31 && high < 0x1p31;
    case Dtype::i64:
      return low >= -0x1p63 && high < 0x1p63;
    case Dtype::u8:
      return low >= 0 && high <= 255;
    case Dtype::boolean:
      return low >= 0 && high <= 1;
    default:
      return true;
  }
}

template <class Real>
Scaling<Real> normal_scaling(double mean, double sigma) {
  // The variance of one 16-bit lane is (2^32 - 1) / 12, of eight (2^33 - 2) / 3.
  const double deviation = std::sqrt((0x1p33 - 2) / 3);
  return {static_cast<Real>(mean), static_cast<Real>(sigma / deviation), std::numeric_limits<Real>::infinity()};
}

/// `unit` is the distance of neighbouring draws of [0, 1).
template <class Real>
Scaling<Real> uniform_scaling(double low, double high, double unit) {
  const Real first = static_cast<Real>(low);
  return {first, static_cast<Real>((high - low) * unit), std::nextafter(static_cast<Real>(high), first)};
}

/// What is wrong with the parameters, or nothing.
std::string fault(Dtype dtype, Distribution distribution, double a, double b) {
  switch (distribution) {
    case Distribution::normal:
    case Distribution::uniform:
      if (is_integer(dtype)) return "needs a floating dtype";
      if (!std::isfinite(a) || !std::isfinite(b)) return "needs finite parameters";
      if (distribution == Distribution::normal) return b < 0 ? "needs sigma >= 0" : "";
      return a > b ? "needs low <= high" : "";
    case Distribution::integers:
      if (a != std::floor(a) || b != std::floor(b)) return "needs integer bounds";
      if (!(std::fabs(a) <= kLargestInteger && std::fabs(b) <= kLargestInteger)) return "needs bounds within 2^53";
      if (a > b) return "needs low <= high";
      return holds(dtype, a, b) ? "" : "leaves the range of the dtype";
    case Distribution::ternary:
      if (!(a >= 0 && a <= 1)) return "needs 0 <= p <= 1";
      return holds(dtype, -1, 1) ? "" : "needs a dtype that holds -1";
    case Distribution::constant:
      break;
  }
  if (is_integer(dtype) && (a != std::floor(a) || !holds(dtype, a, a))) return "is not a value of the dtype";
  return "";
}

}  // namespace

DrawPlan plan_draw(Dtype dtype, Device::Slice slice, Device::DrawKey key, Distribution distribution, double a,
                   double b) {
  if (const std::string wrong = fault(dtype, distribution, a, b); !wrong.empty()) {
    throw Error(fmt::format("draw {}({}, {}) of {}: {}", name_of(distribution), a, b, pkb::name_of(dtype), wrong));
  }
  if (slice.inner <= 0 || slice.first < 0 || slice.stride < 0) {
    throw Error(fmt::format("draw: a slice needs inner > 0, first >= 0, stride >= 0, not {{{}, {}, {}}}", slice.first,
                            slice.stride, slice.inner));
  }
  DrawPlan plan;
  plan.key = philox_key(key.seed, key.stream);
  plan.draw = key.draw;
  plan.slice = slice;
  plan.distribution = distribution;
  switch (distribution) {
    case Distribution::normal:
      plan.fp32 = normal_scaling<float>(a, b);
      plan.fp64 = normal_scaling<double>(a, b);
      break;
    case Distribution::uniform:
      plan.fp32 = uniform_scaling<float>(a, b, 0x1p-24);
      plan.fp64 = uniform_scaling<double>(a, b, 0x1p-53);
      break;
    case Distribution::integers:
      plan.low = static_cast<int64_t>(a);
      plan.count = static_cast<uint64_t>(static_cast<int64_t>(b) - plan.low) + 1;
      break;
    case Distribution::ternary:
      plan.nonzero = static_cast<uint64_t>(std::llround(a * 0x1p32));
      break;
    case Distribution::constant:
      plan.constant = a;
      break;
  }
  return plan;
}

PhiloxKey poison_key(Device::DrawKey key) {
  return philox_key(~key.seed, mix64(key.stream));
}

}  // namespace pkb
