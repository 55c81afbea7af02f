// SPDX-License-Identifier: Apache-2.0
//
// Files that are either whole or absent, whatever happens while they are written.
#pragma once

#include <filesystem>
#include <string_view>

namespace pkb {

/// Writes to a temporary name in the same folder, syncs, and renames. Throws SystemError; the old file then still
/// stands.
void replace_file(const std::filesystem::path& file, std::string_view text);

/// All bytes, and then to the disk. Throws SystemError naming `file`.
void write_and_sync(int descriptor, std::string_view bytes, const std::filesystem::path& file);

/// Makes names created or renamed in a folder last.
void sync_folder(const std::filesystem::path& folder);

}  // namespace pkb
