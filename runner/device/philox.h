// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC11): a counter-based
// generator. Block n of a sequence is a function of key and counter alone, so that any element of any rank's tensor can
// be drawn anywhere, in any order, and is the same bits on host and GPU.
#pragma once

#include <cstdint>

#include "device/bits.h"

namespace pkb {

struct PhiloxBlock {
  uint32_t lane[4];
};
struct PhiloxKey {
  uint32_t low, high;
};

PKB_HD inline PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  constexpr uint32_t kMultiplier0 = 0xd251'1f53u, kMultiplier1 = 0xcd9e'8d57u;
  constexpr uint32_t kWeyl0 = 0x9e37'79b9u, kWeyl1 = 0xbb67'ae85u;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * counter.lane[0];
    const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * counter.lane[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.lane[1] ^ key.low, static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.lane[3] ^ key.high, static_cast<uint32_t>(product0)}};
    key = {key.low + kWeyl0, key.high + kWeyl1};
  }
  return counter;
}

/// The key of an independent sequence. The seed is mixed first, so that (seed, stream) and (seed + 1, stream - 1)
/// differ.
PKB_HD inline PhiloxKey philox_key(uint64_t seed, uint64_t stream) {
  const uint64_t key = mix64(mix64(seed + 0x9e37'79b9'7f4a'7c15ull) ^ stream);
  return {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

/// Block `index` of draw `draw` of a sequence.
PKB_HD inline PhiloxBlock philox(PhiloxKey key, uint64_t draw, uint64_t index) {
  return philox({{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), static_cast<uint32_t>(draw),
                  static_cast<uint32_t>(draw >> 32)}},
                key);
}

}  // namespace pkb
