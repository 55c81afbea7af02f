// SPDX-License-Identifier: Apache-2.0
//
// POSIX shared memory for the host device. Objects are called /<prefix>-<pid>-<counter>; the owner holds a lock on its
// object as long as it lives, so that objects of dead processes can be told apart even where process ids cannot be seen
// (containers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pkb {

/// A mapped object of this process, unmapped and unlinked on destruction.
class SharedMemory {
 public:
  /// Makes a new object, zeroed, its pages reserved: a full /dev/shm is an Error here, not a bus error later.
  SharedMemory(std::string_view prefix, uint64_t& counter, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  void* data() const { return data_; }
  const std::string& name() const { return name_; }
  /// Removes the name; mappings live on.
  void unlink();

 private:
  std::string name_;
  int descriptor_ = -1;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool linked_ = false;
};

/// Maps another process's object. Throws Error when it is gone or smaller than `bytes`.
void* map_shared_memory(const std::string& name, std::size_t bytes);
void unmap_shared_memory(void* data, std::size_t bytes) noexcept;

/// What is free in /dev/shm; -1 when unknown.
int64_t free_shared_memory();

}  // namespace pkb
