// SPDX-License-Identifier: Apache-2.0
#include "device/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/error.h"
#include "device/device.h"

namespace pkb {
namespace {

constexpr const char* kDirectory = "/dev/shm";
constexpr std::string_view kFamily = "pkb-";  // every name starts so; the sweep touches nothing else

double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

[[noreturn]] void throw_no_space(std::size_t bytes) {
  throw Error(fmt::format(
      "shared memory: {:.1f} MiB asked for, {:.1f} MiB free in {}. Make it larger (in a container: docker run "
      "--shm-size=8g), or choose a smaller size",
      mebibytes(static_cast<int64_t>(bytes)), mebibytes(free_shared_memory()), kDirectory));
}

void reserve(int descriptor, std::size_t bytes, const std::string& name) {
  // Asked first: posix_fallocate would fill all there is before it fails.
  const int64_t free = free_shared_memory();
  if (free >= 0 && bytes > static_cast<uint64_t>(free)) throw_no_space(bytes);
  int error = 0;
  do {  // grows the object too
    error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == ENOSPC || error == ENOMEM) throw_no_space(bytes);
  if (error != 0) throw SystemError(fmt::format("shared memory: posix_fallocate of {} ({} bytes)", name, bytes), error);
}

void* map(int descriptor, std::size_t bytes, const std::string& name) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) throw SystemError(fmt::format("shared memory: mmap of {} ({} bytes)", name, bytes), errno);
  return data;
}

/// The process id in "pkb-...-<pid>-<counter>".
std::optional<pid_t> owner_of(std::string_view name) {
  if (!name.starts_with(kFamily)) return std::nullopt;
  const std::size_t last = name.rfind('-');
  const std::size_t before = name.rfind('-', last - 1);
  if (before == std::string_view::npos || last - before < 2) return std::nullopt;
  pid_t pid = 0;
  const char* end = name.data() + last;
  const auto [stop, error] = std::from_chars(name.data() + before + 1, end, pid);
  if (error != std::errc() || stop != end || pid <= 0) return std::nullopt;
  return pid;
}

bool is_alive(pid_t pid) {
  return kill(pid, 0) == 0 || errno != ESRCH;
}

void remove_if_abandoned(const std::string& name) {
  const std::optional<pid_t> owner = owner_of(name);
  if (!owner || is_alive(*owner)) return;
  const std::string path = "/" + name;
  const int descriptor = shm_open(path.c_str(), O_RDWR, 0);
  if (descriptor < 0) return;
  struct stat status {};
  // The lock is free when the owner is gone, also one in another container.
  if (fstat(descriptor, &status) == 0 && status.st_uid == geteuid() && flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    shm_unlink(path.c_str());
  }
  ::close(descriptor);
}

}  // namespace

SharedMemory::SharedMemory(std::string_view prefix, uint64_t& counter, std::size_t bytes) : bytes_(bytes) {
  const std::string_view family = prefix.starts_with(kFamily) ? "" : kFamily;
  do {  // a name may be left over from an earlier process with this id
    name_ = fmt::format("/{}{}-{}-{}", family, prefix, getpid(), counter++);
    descriptor_ = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw SystemError("shared memory: shm_open of " + name_, errno);
  linked_ = true;
  try {
    flock(descriptor_, LOCK_SH | LOCK_NB);
    reserve(descriptor_, bytes, name_);
    data_ = map(descriptor_, bytes, name_);
  } catch (...) {
    unlink();
    ::close(descriptor_);
    throw;
  }
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      linked_(std::exchange(other.linked_, false)) {}

SharedMemory::~SharedMemory() {
  unlink();
  if (data_ != nullptr) unmap_shared_memory(data_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedMemory::unlink() {
  if (linked_) shm_unlink(name_.c_str());
  linked_ = false;
}

void* map_shared_memory(const std::string& name, std::size_t bytes) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) {
    throw SystemError(fmt::format("shared memory: shm_open of {} (its owner is gone, or all had opened it)", name),
                      errno);
  }
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (fstat(descriptor, &status) != 0) throw SystemError("shared memory: fstat of " + name, errno);
  if (static_cast<uint64_t>(status.st_size) < bytes) {
    throw Error(fmt::format("shared memory: {} holds {} bytes, its handle says {}", name, status.st_size, bytes));
  }
  return map(descriptor, bytes, name);
}

void unmap_shared_memory(void* data, std::size_t bytes) noexcept {
  munmap(data, bytes);
}

int64_t free_shared_memory() {
  struct statvfs status {};
  if (statvfs(kDirectory, &status) != 0) return -1;
  return static_cast<int64_t>(status.f_bavail) * static_cast<int64_t>(status.f_frsize);
}

void sweep_shared_memory() {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(kDirectory, error), end; !error && entry != end;
       entry.increment(error)) {
    remove_if_abandoned(entry->path().filename().string());
  }
}

}  // namespace pkb
