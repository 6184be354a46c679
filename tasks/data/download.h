#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headroom::tasks {

/// Called from time to time with the bytes so far and the total (0: unknown).
using DownloadProgress = std::function<void(int64_t done, int64_t total)>;

/// Downloads `url` (http, https) to `path`, which may be absent, resuming at byte size(path); follows redirects. Starts
/// over if the server does not support ranges or has fewer bytes. Keeps partial data on failure, for the next call to
/// continue. If the server sends more than `most_bytes`, stops and removes the file. Only one process at a time may
/// write to `path`. Throws Error naming the URL and the cause: an HTTP status, a connection that ended early (with both
/// sizes), a full disk, 60 s of silence.
void download(const std::string& url, const std::filesystem::path& path, int64_t most_bytes,
              const DownloadProgress& progress = {});

}  // namespace headroom::tasks
