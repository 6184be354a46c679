#pragma once
#include <filesystem>
#include <string>

namespace headroom::models {

/// What the temporary names of `target` begin with on this host: `.NAME.HOST+`. A leftover of this form is this host's
/// to remove when nobody holds its lock; whether another host holds one cannot be seen on every network file system.
std::string temporary_prefix(const std::filesystem::path& target);

/// The n-th temporary name of `target` in this process, in the same folder: `.NAME.HOST+PID-n.tmp`.
std::filesystem::path temporary_name(const std::filesystem::path& target, int n);

}  // namespace headroom::models
