// SPDX-License-Identifier: Apache-2.0
//
// Base draws, one element at a time. Element e of a draw uses Philox block e of the key's sequence (complex64: blocks
// 2e and 2e + 1), whatever the dtype, so that slices of a tensor can be drawn alone.
//
//   normal     mean + sigma * z; z is the sum of the block's eight 16-bit lanes, centred and scaled to variance 1 (|z|
//   < 4.9):
//              integers and two fp32 operations instead of log and cos, whose last bits differ from machine to machine
//   uniform    low + (high - low) * u, u a multiple of 2^-24 (fp64: 2^-53), kept below `high`; rounding to a narrow
//   dtype
//              afterwards may still give `high`
//   integers   low + floor(x * (high - low + 1) / 2^64), x of 64 bits: bias below 2^-10 even for 2^54 values
//   ternary    -1, 0 or 1; not 0 with probability p
//   constant   the value
//
// Nothing here may be contracted to a fused multiply-add: intrinsics on the GPU, -ffp-contract=off on the host.
#pragma once

#include <cstdint>

#include "device/device.h"
#include "device/element.h"
#include "device/philox.h"

namespace pkb {

/// normal and uniform: min(offset + step * integer, limit).
template <class Real>
struct Scaling {
  Real offset = 0, step = 0, limit = 0;
};

/// A draw with everything computed that does not depend on the element; made on the host, for both devices.
struct DrawPlan {
  PhiloxKey key{};
  uint64_t draw = 0;
  Device::Slice slice;
  Device::Distribution distribution = Device::Distribution::constant;
  Scaling<float> fp32;
  Scaling<double> fp64;
  int64_t low = 0;       ///< integers
  uint64_t count = 0;    ///< integers: how many values
  uint64_t nonzero = 0;  ///< ternary: p in units of 2^-32
  double constant = 0;
};

/// Throws Error for what the dtype cannot hold and for parameters out of order.
DrawPlan plan_draw(Dtype dtype, Device::Slice slice, Device::DrawKey key, Device::Distribution distribution, double a,
                   double b);

/// The key of random poison bytes; not one that any draw uses.
PhiloxKey poison_key(Device::DrawKey key);

PKB_HD inline float separate_multiply_add(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(__fmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}

PKB_HD inline double separate_multiply_add(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __dadd_rn(__dmul_rn(a, b), c);
#else
  return a * b + c;
#endif
}

inline constexpr int32_t kLaneSumMean = 4 * 0xffff;

/// The sum of the block's eight 16-bit lanes less its mean; variance (2^33 - 2) / 3.
PKB_HD inline int32_t centred_lane_sum(const PhiloxBlock& block) {
  uint32_t sum = 0;
  for (const uint32_t lane : block.lane) sum += (lane & 0xffff) + (lane >> 16);
  return static_cast<int32_t>(sum) - kLaneSumMean;
}

PKB_HD inline uint64_t first_word(const PhiloxBlock& block) {
  return block.lane[0] | (static_cast<uint64_t>(block.lane[1]) << 32);
}

PKB_HD inline float draw_real(const Scaling<float>& scaling, bool normal, const PhiloxBlock& block) {
  const int32_t integer = normal ? centred_lane_sum(block) : static_cast<int32_t>(block.lane[0] >> 8);
  const float value = separate_multiply_add(scaling.step, static_cast<float>(integer), scaling.offset);
  return value < scaling.limit ? value : scaling.limit;
}

PKB_HD inline double draw_real(const Scaling<double>& scaling, bool normal, const PhiloxBlock& block) {
  const int64_t integer = normal ? centred_lane_sum(block) : static_cast<int64_t>(first_word(block) >> 11);
  const double value = separate_multiply_add(scaling.step, static_cast<double>(integer), scaling.offset);
  return value < scaling.limit ? value : scaling.limit;
}

/// integers and ternary.
PKB_HD inline int64_t draw_integer(const DrawPlan& plan, const PhiloxBlock& block) {
  if (plan.distribution == Device::Distribution::integers) {
    return plan.low + static_cast<int64_t>(multiply_high(first_word(block), plan.count));
  }
  if (block.lane[0] >= plan.nonzero) return 0;
  return (block.lane[1] & 1) != 0 ? 1 : -1;
}

/// One value; complex64: one component.
template <Dtype D>
PKB_HD inline BitsOf<D> draw_component(const DrawPlan& plan, uint64_t index) {
  using Distribution = Device::Distribution;
  const PhiloxBlock block = philox(plan.key, plan.draw, index);
  if constexpr (kIsInteger<D>) {
    if (plan.distribution == Distribution::constant) return integer_bits<D>(static_cast<int64_t>(plan.constant));
    return integer_bits<D>(draw_integer(plan, block));
  } else {
    const bool normal = plan.distribution == Distribution::normal;
    if (normal || plan.distribution == Distribution::uniform) {
      if constexpr (D == Dtype::fp64) {
        return real_bits<D>(draw_real(plan.fp64, normal, block));
      } else {
        return real_bits<D>(draw_real(plan.fp32, normal, block));
      }
    }
    if (plan.distribution == Distribution::constant) return real_bits<D>(plan.constant);
    return real_bits<D>(static_cast<double>(draw_integer(plan, block)));
  }
}

/// Element `element` of the slice.
template <Dtype D>
PKB_HD inline BitsOf<D> draw_element(const DrawPlan& plan, int64_t element) {
  int64_t global = plan.slice.first + element;
  if (element >= plan.slice.inner) {  // not the first row: whole tensors are spared the division
    const int64_t row = element / plan.slice.inner;
    global = plan.slice.first + row * plan.slice.stride + (element - row * plan.slice.inner);
  }
  const uint64_t index = static_cast<uint64_t>(global);
  if constexpr (D == Dtype::complex64) {
    const uint64_t real = draw_component<D>(plan, 2 * index);
    if (plan.distribution == Device::Distribution::constant) return real;
    return real | (draw_component<D>(plan, 2 * index + 1) << 32);
  } else {
    return draw_component<D>(plan, index);
  }
}

}  // namespace pkb
