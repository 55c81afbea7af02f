// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit hash of bytes in which positions count, yet that can be computed in any order: the sum over 8-byte words of
// a mix of word and index. It detects accidental and lazy changes (overwritten or swapped elements); it is not
// cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/bits.h"

namespace pkb {

PKB_HD inline uint64_t hash_word(uint64_t word, uint64_t index) {
  return mix64(word + (index + 1) * 0x9e37'79b9'7f4a'7c15ull);
}

/// Word `index` from memory of any alignment; past the end (the last word of an odd length) zeros.
PKB_HD inline uint64_t load_word(const unsigned char* data, std::size_t bytes, std::size_t index) {
  uint64_t word = 0;
  const std::size_t first = index * 8;
  for (std::size_t i = 0; i < 8 && first + i < bytes; ++i) word |= static_cast<uint64_t>(data[first + i]) << (8 * i);
  return word;
}

/// The hash from the sum over words. The length tells zeros at the end apart.
PKB_HD inline uint64_t finish_hash(uint64_t sum, std::size_t bytes) {
  return mix64(sum ^ mix64(bytes + 1));
}

}  // namespace pkb
