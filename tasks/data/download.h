#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headroom::tasks {

/// Called from time to time with the bytes so far and the bytes in all (0: not known).
using DownloadProgress = std::function<void(int64_t done, int64_t total)>;

/// Appends what `url` (http, https) serves from byte size(path) on to the file `path`, which may be absent; follows
/// redirects. A server that does not know ranges, or has fewer bytes, makes it start over. What has arrived stays when
/// it fails, for the next call to continue; a server that sends more than `most_bytes` is stopped there, and the file
/// removed. One process at a time may write to `path`. Throws Error naming the URL and the cause: a status of the
/// server's, a connection that ended early (with both sizes), a full disk, 60 s of silence.
void download(const std::string& url, const std::filesystem::path& path, int64_t most_bytes,
              const DownloadProgress& progress = {});

}  // namespace headroom::tasks
