#pragma once
#include <filesystem>
#include <string>

namespace headroom::models {

/// The prefix of temporary names for `target` on this host: `.NAME.HOST+`. This host may remove such leftovers if
/// nobody locks them; on some network file systems it cannot see another host's locks.
std::string temporary_prefix(const std::filesystem::path& target);

/// The n-th temporary name for `target` in this process, in the same folder: `.NAME.HOST+PID-n.tmp`.
std::filesystem::path temporary_name(const std::filesystem::path& target, int n);

}  // namespace headroom::models
