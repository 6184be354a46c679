#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom::tasks {

/// Appends what a ZIP archive (a Python wheel) holds under the name `member`, stored or deflated, to the file `to`,
/// which may be absent. Throws Error naming the archive and what of it is wrong: no archive, no such member, bytes that
/// end early or do not have their CRC-32, more than `most` bytes, before one is written; and naming `to` where the disk
/// takes no more.
void append_zip_member(const std::filesystem::path& archive, const std::string& member, const std::filesystem::path& to,
                       uint64_t most);

}  // namespace headroom::tasks
