#pragma once
#include <filesystem>
#include <string>

#include "tasks/data/download.h"
#include "tasks/data/manifest.h"
#include "tasks/data/roots.h"

namespace headroom::tasks {

enum class FileState {
  missing,
  good,        ///< size and hash are the manifest's
  recorded,    ///< the manifest has no hash; the bytes are those of the first fetch
  unverified,  ///< nothing to compare with
  wrong,
};

/// "missing", "ok", …
const char* name_of(FileState state);

struct FileReport {
  FileState state = FileState::missing;
  std::filesystem::path path{};  ///< where it lies; empty when missing
  std::string detail{};          ///< of a wrong one: sizes or hashes, expected and actual
};

/// Looks for a file of the manifest where find_data() would, and compares its size and SHA-256. The hash that a first
/// fetch recorded lies next to the file, as FILE.sha256. Throws Error when the file cannot be read.
FileReport check_file(const DataFile& file, const DataRoots& roots);

/// For a file, or a folder of files, that was found at `path` under a data folder's name for it: refuses what the
/// built-in manifest knows by another size or hash. Throws Error naming the file and both.
void refuse_wrong(const std::filesystem::path& path, const std::string& name);

/// Downloads a file into the cache unless a good one is there: to FILE.part, resumed by a later call, and renamed when
/// size and hash are the manifest's. Bytes of another hash are kept apart as FILE.wrong and refused. A file without a
/// hash is never resumed (it could become a mixture), and its hash is recorded. The archives of a file in pieces are
/// fetched the same way, as FILE.piece0.zip and so on, and removed when the file is whole. Returns where the file lies.
/// Throws Error naming the file and both sizes or hashes, or that no URL is known.
std::filesystem::path fetch_file(const DataFile& file, const DataRoots& roots, const DownloadProgress& progress = {});

}  // namespace headroom::tasks
