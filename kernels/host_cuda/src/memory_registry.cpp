// SPDX-License-Identifier: Apache-2.0
#include "memory_registry.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace pkb::hostcuda {

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPoisonLimit = std::size_t{64} << 20;  // larger ones would cost time and memory
constexpr int kPoison = 0xFF;

}  // namespace

MemoryRegistry& MemoryRegistry::instance() {
  static MemoryRegistry& registry = *new MemoryRegistry;
  return registry;
}

void* MemoryRegistry::allocate(std::size_t bytes, MemoryKind kind) {
  const std::size_t rounded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (rounded < bytes) return nullptr;
  void* const pointer = std::aligned_alloc(kAlignment, rounded);
  if (pointer == nullptr) return nullptr;
  if (kind == MemoryKind::device && rounded <= kPoisonLimit) std::memset(pointer, kPoison, rounded);
  const std::lock_guard guard(lock_);
  ranges_[static_cast<const char*>(pointer)] = {rounded, kind};
  return pointer;
}

bool MemoryRegistry::release(void* pointer, MemoryKind kind) {
  {
    const std::lock_guard guard(lock_);
    const auto found = ranges_.find(static_cast<const char*>(pointer));
    if (found == ranges_.end() || found->second.kind != kind) return false;
    ranges_.erase(found);
  }
  std::free(pointer);
  return true;
}

bool MemoryRegistry::add(void* pointer, std::size_t bytes) {
  const std::lock_guard guard(lock_);
  return ranges_.emplace(static_cast<const char*>(pointer), Range{bytes, MemoryKind::registered}).second;
}

bool MemoryRegistry::remove(void* pointer) {
  const std::lock_guard guard(lock_);
  const auto found = ranges_.find(static_cast<const char*>(pointer));
  if (found == ranges_.end() || found->second.kind != MemoryKind::registered) return false;
  ranges_.erase(found);
  return true;
}

MemoryKind MemoryRegistry::kind_of(const void* pointer) const {
  const auto* const address = static_cast<const char*>(pointer);
  const std::lock_guard guard(lock_);
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return MemoryKind::unregistered;
  const auto& [start, range] = *--after;
  return address < start + range.bytes ? range.kind : MemoryKind::unregistered;
}

}  // namespace pkb::hostcuda
