// SPDX-License-Identifier: Apache-2.0
#include "results/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"

namespace pkb {
namespace {

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw SystemError(fmt::format("cannot write {}", file.string()), errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void write_and_sync(int descriptor, std::string_view bytes, const std::filesystem::path& file) {
  const off_t before = ::lseek(descriptor, 0, SEEK_END);
  try {
    write_all(descriptor, bytes, file);
  } catch (...) {
    if (before >= 0 && ::ftruncate(descriptor, before) != 0) {
      // The half line stays; a journal that is resumed cuts it.
    }
    throw;
  }
  if (::fsync(descriptor) != 0) throw SystemError(fmt::format("cannot sync {}", file.string()), errno);
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw SystemError(fmt::format("cannot open {}", folder.string()), errno);
  ::fsync(descriptor);  // some file systems refuse it for folders, and need none
  ::close(descriptor);
}

void replace_file(const std::filesystem::path& file, std::string_view text) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const auto temporary = folder / fmt::format(".{}.{}.tmp", file.filename().string(), ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) throw SystemError(fmt::format("cannot create {}", temporary.string()), errno);
  try {
    write_and_sync(descriptor, text, temporary);
  } catch (...) {
    ::close(descriptor);
    ::unlink(temporary.c_str());
    throw;
  }
  ::close(descriptor);
  if (::rename(temporary.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    throw SystemError(fmt::format("cannot rename {} to {}", temporary.string(), file.string()), error);
  }
  sync_folder(folder);
}

}  // namespace pkb
