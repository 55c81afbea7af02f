// SPDX-License-Identifier: Apache-2.0
#include "stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pkb::hostcuda {

namespace {

constexpr std::array<uint64_t, 4> kCanary = {0x9D3C51A7E46F0B28, 0x1F8E6D2C4B3A5970, 0xC0DEFACE12345678,
                                             0x7A5B3C9D1E2F4860};
constexpr int kStacksPerSlab = 32;
// Equal offsets would put the top of every stack into the same few sets of the caches.
constexpr std::size_t kColour = 17 * 64;

}  // namespace

bool Stack::intact() const {
  return std::memcmp(base, kCanary.data(), sizeof(kCanary)) == 0;
}

StackPool::~StackPool() {
  for (const Slab& slab : slabs_) munmap(slab.address, slab.bytes);
}

Stack StackPool::take() {
  if (free_.empty()) grow();
  const Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::grow() {
  const std::size_t stride = stack_bytes_ + kColour;
  const std::size_t bytes = stride * kStacksPerSlab;
  void* const slab =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (slab == MAP_FAILED) {
    std::fprintf(stderr, "pkb host device: no memory for the stacks of device threads (%zu bytes)\n", bytes);
    std::abort();
  }
  madvise(slab, bytes, MADV_NOHUGEPAGE);  // a few KiB of each stack are used
  slabs_.push_back({slab, bytes});
  for (int i = kStacksPerSlab - 1; i >= 0; --i) {
    const Stack stack{static_cast<char*>(slab) + static_cast<std::size_t>(i) * stride, stack_bytes_};
    std::memcpy(stack.base, kCanary.data(), sizeof(kCanary));
    free_.push_back(stack);
  }
}

}  // namespace pkb::hostcuda
