#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom::tasks {

/// Appends the member `member` of a ZIP archive (a Python wheel), stored or deflated, to the file `to`, which may be
/// absent. Throws Error naming the archive and its fault: not an archive, no such member, bytes that end early or fail
/// their CRC-32, more than `most` bytes (before writing any); and naming `to` if the disk is full.
void append_zip_member(const std::filesystem::path& archive, const std::string& member, const std::filesystem::path& to,
                       uint64_t most);

}  // namespace headroom::tasks
