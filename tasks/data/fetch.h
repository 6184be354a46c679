#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tasks/data/locate.h"
#include "tasks/data/manifest.h"

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

/// Appends the member `member` of a ZIP archive (a Python wheel), stored or deflated, to the file `to`, which may be
/// absent. Throws Error naming the archive and its fault: not an archive, no such member, bytes that end early or fail
/// their CRC-32, more than `most` bytes (before writing any); and naming `to` if the disk is full.
void append_zip_member(const std::filesystem::path& archive, const std::string& member, const std::filesystem::path& to,
                       uint64_t most);

enum class FileState {
  missing,
  good,        ///< size and hash match the manifest
  recorded,    ///< the manifest has no hash; the bytes match the first fetch
  unverified,  ///< nothing to compare with
  wrong,
};

/// "missing", "ok", …
const char* name_of(FileState state);

struct FileReport {
  FileState state = FileState::missing;
  std::filesystem::path path{};  ///< where it was found; empty if missing
  std::string detail{};          ///< for a wrong file: sizes or hashes, expected and actual
};

/// Finds a manifest file as find_data() would and compares its size and SHA-256. The hash recorded by a first fetch
/// lies next to the file, as FILE.sha256. Throws Error if the file cannot be read.
FileReport check_file(const DataFile& file, const DataRoots& roots);

/// Refuses a file, or a folder of files, found at `path` under a data folder's name for it, if the built-in manifest
/// lists another size or hash. Throws Error naming the file and both.
void refuse_wrong(const std::filesystem::path& path, const std::string& name);

/// Downloads a file into the cache unless a good one is there: to FILE.part, which a later call resumes, and renames it
/// once size and hash match the manifest. Refuses bytes with another hash and keeps them as FILE.wrong. Never resumes a
/// file without a hash (it could become a mixture), and records its hash. Fetches the archives of a file in pieces
/// likewise, as FILE.piece0.zip and so on, and removes them once the file is whole. Returns the file's path. Throws
/// Error naming the file and both sizes or hashes, or saying that no URL is known.
std::filesystem::path fetch_file(const DataFile& file, const DataRoots& roots, const DownloadProgress& progress = {});

}  // namespace headroom::tasks
