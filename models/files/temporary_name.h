#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::models {

/// The folder that a file lies in: "." for a name alone.
std::filesystem::path folder_of(const std::filesystem::path& file);

/// The prefix of temporary names for `target` on this host: `.NAME.HOST+`. This host may remove such leftovers if
/// nobody locks them; on some network file systems it cannot see another host's locks.
std::string temporary_prefix(const std::filesystem::path& target);

/// The n-th temporary name for `target` in this process, in the same folder: `.NAME.HOST+PID-n.tmp`.
std::filesystem::path temporary_name(const std::filesystem::path& target, int n);

/// What has a temporary name for `target` of this host, whether or not its process lives.
std::vector<std::filesystem::path> with_temporary_name(const std::filesystem::path& target);

/// rename(2) without replacing: if two commands write one name at once, only one succeeds. A folder may replace an
/// empty one. Returns 0, or -1 with errno: EEXIST if `to` exists.
int rename_new(const std::filesystem::path& from, const std::filesystem::path& to);

/// Waits until the names in a folder would outlive a power cut, where its file system can sync folders.
void sync_folder(const std::filesystem::path& folder);

}  // namespace headroom::models
