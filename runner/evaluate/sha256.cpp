// SPDX-License-Identifier: Apache-2.0
#include "evaluate/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pkb {
namespace {

// The constants are the first 32 bits of the fractional parts of the square (cube) roots of the first 8 (64) primes.
struct Constants {
  std::array<uint32_t, 8> initial{};
  std::array<uint32_t, 64> round{};
};

uint32_t fraction_bits(long double root) {
  return static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0L);
}

Constants make_constants() {
  Constants constants;
  std::size_t found = 0;
  for (uint32_t candidate = 2; found < 64; ++candidate) {
    bool prime = true;
    for (uint32_t divisor = 2; divisor * divisor <= candidate; ++divisor) prime = prime && candidate % divisor != 0;
    if (!prime) continue;
    if (found < 8) constants.initial[found] = fraction_bits(std::sqrt(static_cast<long double>(candidate)));
    constants.round[found++] = fraction_bits(std::cbrt(static_cast<long double>(candidate)));
  }
  return constants;
}

void absorb(std::array<uint32_t, 8>& state, const unsigned char* block, const std::array<uint32_t, 64>& round) {
  std::array<uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = static_cast<uint32_t>(block[4 * i]) << 24 | static_cast<uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<uint32_t>(block[4 * i + 2]) << 8 | static_cast<uint32_t>(block[4 * i + 3]);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256(std::string_view data) {
  const Constants constants = make_constants();
  auto state = constants.initial;
  std::string tail(data.substr(data.size() / 64 * 64));
  const uint64_t bits = static_cast<uint64_t>(data.size()) * 8;
  tail.push_back(static_cast<char>(0x80));
  while (tail.size() % 64 != 56) tail.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) tail.push_back(static_cast<char>(bits >> shift));

  const auto absorb_all = [&](std::string_view blocks) {
    for (std::size_t at = 0; at + 64 <= blocks.size(); at += 64) {
      absorb(state, reinterpret_cast<const unsigned char*>(blocks.data()) + at, constants.round);
    }
  };
  absorb_all(data);
  absorb_all(tail);

  std::string hex;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) hex.push_back("0123456789abcdef"[word >> shift & 15]);
  }
  return hex;
}

}  // namespace pkb
