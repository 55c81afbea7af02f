// SPDX-License-Identifier: Apache-2.0
#include "device/host_data.h"

#include <algorithm>
#include <cstring>

#include "device/compare.h"
#include "device/hash.h"

namespace pkb::host {

void draw(void* data, Dtype dtype, int64_t elements, const DrawPlan& plan) {
  with_dtype(dtype, [&](auto tag) {
    constexpr Dtype D = decltype(tag)::value;
    auto* bits = static_cast<BitsOf<D>*>(data);
    for (int64_t i = 0; i < elements; ++i) bits[i] = draw_element<D>(plan, i);
  });
}

void poison(void* data, Dtype dtype, int64_t elements, PhiloxKey key, uint64_t draw) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(dtype);
  if (is_floating(dtype)) {
    std::memset(data, 0xff, bytes);
    return;
  }
  auto* target = static_cast<unsigned char*>(data);
  for (std::size_t first = 0; first < bytes; first += sizeof(PhiloxBlock)) {
    const PhiloxBlock block = philox(key, draw, first / sizeof(PhiloxBlock));
    std::memcpy(target + first, &block, std::min(bytes - first, sizeof(PhiloxBlock)));
  }
}

uint64_t hash(const void* data, std::size_t bytes) {
  const auto* source = static_cast<const unsigned char*>(data);
  uint64_t sum = 0;
  const std::size_t whole_words = bytes / 8;
  for (std::size_t i = 0; i < whole_words; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, source + 8 * i, 8);
    sum += hash_word(word, i);
  }
  if (bytes % 8 != 0) sum += hash_word(load_word(source, bytes, whole_words), whole_words);
  return finish_hash(sum, bytes);
}

Device::Comparison compare(const void* got, const void* expected, Dtype dtype, int64_t elements,
                           Device::CompareRule rule) {
  return with_dtype(dtype, [&](auto tag) {
    constexpr Dtype D = decltype(tag)::value;
    const auto* values = static_cast<const BitsOf<D>*>(got);
    const auto* wanted = static_cast<const BitsOf<D>*>(expected);
    Comparison total;
    total.elements = elements;
    for (int64_t i = 0; i < elements; ++i) compare_element<D>(total, values[i], wanted[i], i, rule);
    if (total.first >= 0) {
      total.got_bits = values[total.first];
      total.expected_bits = wanted[total.first];
    }
    return total;
  });
}

}  // namespace pkb::host
