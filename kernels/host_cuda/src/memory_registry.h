// SPDX-License-Identifier: Apache-2.0
//
// What candidates allocated through the CUDA names.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace pkb::hostcuda {

enum class MemoryKind { unregistered, device, pinned, managed, registered };

class MemoryRegistry {
 public:
  static MemoryRegistry& instance();

  /// 256-byte aligned; null when there is no memory. Device memory starts as NaN bytes, so that reading what was never
  /// written shows.
  void* allocate(std::size_t bytes, MemoryKind kind);
  /// False when this is not the start of an allocation of that kind.
  bool release(void* pointer, MemoryKind kind);
  bool add(void* pointer, std::size_t bytes);  ///< memory of others, page-locked by cudaHostRegister
  bool remove(void* pointer);
  MemoryKind kind_of(const void* pointer) const;  ///< of any address within

 private:
  struct Range {
    std::size_t bytes;
    MemoryKind kind;
  };
  mutable std::mutex lock_;
  std::map<const char*, Range> ranges_;
};

}  // namespace pkb::hostcuda
