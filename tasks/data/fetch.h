#pragma once
#include <filesystem>
#include <string>

#include "tasks/data/download.h"
#include "tasks/data/manifest.h"
#include "tasks/data/roots.h"

namespace headroom::tasks {

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
