#include "tasks/data/fetch.h"

#include <algorithm>
#include <vector>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/regular_file.h"
#include "tasks/data/locate.h"
#include "tasks/data/sha256.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

/// The limit if the manifest gives no size: larger than any file of its kind, smaller than a disk.
constexpr int64_t most_unknown = int64_t{1} << 36;

fs::path with_suffix(const fs::path& path, const char* suffix) { return path.string() + suffix; }

bool is_file(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_regular_file(path, unreadable);
}

/// The first word of FILE.sha256; "" where there is none.
std::string recorded_hash(const fs::path& path) {
  const fs::path record = with_suffix(path, ".sha256");
  if (!is_file(record)) return "";
  const std::string line = models::read_file(record, {"file of a SHA-256", 4096});
  return line.substr(0, line.find_first_of(" \t\n"));
}

/// As sha256sum writes it, so that `sha256sum -c` reads it.
void record_hash(const fs::path& path, const std::string& hash) {
  models::write_file(with_suffix(path, ".sha256"), hash + "  " + path.filename().string() + "\n");
}

FileReport compare(const DataFile& file, const fs::path& path) {
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  if (file.bytes >= 0 && bytes != file.bytes)
    return {
        FileState::wrong, path,
        fmt::format("has {} bytes, {} are expected{}", bytes, file.bytes, bytes < file.bytes ? " (truncated?)" : "")};
  const std::string recorded = recorded_hash(path), expected = file.sha256.empty() ? recorded : file.sha256;
  if (expected.empty()) return {FileState::unverified, path, {}};
  const std::string actual = sha256_of_file(path);
  if (actual != expected)
    return {FileState::wrong, path, fmt::format("has SHA-256 {}, {} is expected", actual, expected)};
  return {file.sha256.empty() ? FileState::recorded : FileState::good, path, {}};
}

/// Who sent a file, for messages.
std::string sender_of(const DataFile& file) {
  return file.pieces.empty() ? file.url : fmt::format("{} pieces, of {}, …", file.pieces.size(), file.pieces[0].url);
}

/// Renames the download `part` to `target`, or refuses it.
void accept(const DataFile& file, const fs::path& part, const fs::path& target) {
  const auto bytes = static_cast<int64_t>(fs::file_size(part));
  // Kept under the name that a further call resumes.
  require(bytes >= file.bytes, "{}: {} sent {} bytes, {} are expected (truncated?)", file.path, sender_of(file), bytes,
          file.bytes);
  const std::string actual = sha256_of_file(part);
  const bool is_right = (file.bytes < 0 || bytes == file.bytes) && (file.sha256.empty() || actual == file.sha256);
  if (!is_right) {
    const fs::path apart = with_suffix(target, ".wrong");
    fs::rename(part, apart);
    fail("{}: {} sent {} bytes with SHA-256 {}, expected {} bytes with {}; kept apart as {}", file.path,
         sender_of(file), bytes, actual, file.bytes < 0 ? "any number of" : std::to_string(file.bytes),
         file.sha256.empty() ? "any" : file.sha256, apart.string());
  }
  if (file.sha256.empty()) record_hash(target, actual);
  fs::rename(part, target);
}

/// A piece's archive as a file of its own.
DataFile archive_of(const DataFile& file, size_t piece) {
  const DataPiece& own = file.pieces[piece];
  return {fmt::format("{}.piece{}.zip", file.path, piece), own.url, own.bytes, own.sha256};
}

/// Fetches the archives that are missing into the cache, and puts their members together in `part`.
void join_pieces(const DataFile& file, const fs::path& part, const fs::path& cache, const DownloadProgress& progress) {
  int64_t before = 0, all = 0;
  for (const DataPiece& piece : file.pieces) all += std::max<int64_t>(0, piece.bytes);
  std::vector<fs::path> archives;
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    archives.push_back(fetch_file(archive_of(file, i), {{}, cache}, [&](int64_t done, int64_t) {
      if (progress) progress(before + done, all);
    }));
    before += std::max<int64_t>(0, file.pieces[i].bytes);
  }
  std::error_code absent;
  fs::remove(part, absent);
  const auto most = static_cast<uint64_t>(file.bytes < 0 ? most_unknown : file.bytes);
  for (size_t i = 0; i < archives.size(); ++i)
    append_zip_member(archives[i], file.pieces[i].member, part, most - (i == 0 ? 0 : fs::file_size(part)));
}

void remove_pieces(const DataFile& file, const fs::path& cache) {
  std::error_code absent;
  for (size_t i = 0; i < file.pieces.size(); ++i) fs::remove(cache / archive_of(file, i).path, absent);
}

}  // namespace

const char* name_of(FileState state) {
  constexpr const char* names[] = {"missing", "ok", "ok, as first fetched", "unverified", "WRONG"};
  return names[static_cast<size_t>(state)];
}

FileReport check_file(const DataFile& file, const DataRoots& roots) {
  for (const fs::path& folder : data_folders(roots))
    if (is_file(folder / file.path)) return compare(file, folder / file.path);
  // Models are next to the given folder's data/.
  if (!roots.given.empty() && is_file(roots.given / file.path)) return compare(file, roots.given / file.path);
  return {};
}

void refuse_wrong(const fs::path& path, const std::string& name) {
  for (const DataSet& set : built_in_manifest()) {
    for (const DataFile& file : set.files) {
      const bool is_inside = file.path.rfind(name + "/", 0) == 0;
      if (!is_inside && file.path != name) continue;
      const fs::path at = is_inside ? path / file.path.substr(name.size() + 1) : path;
      if (!is_file(at)) continue;
      const FileReport report = compare(file, at);
      require(report.state != FileState::wrong, "{}: {}", at.string(), report.detail);
    }
  }
}

fs::path fetch_file(const DataFile& file, const DataRoots& roots, const DownloadProgress& progress) {
  const FileReport found = check_file(file, roots);
  if (found.state != FileState::missing && found.state != FileState::wrong) return found.path;
  require(!roots.cache.empty(), "{}: no cache folder is known: set HOME or XDG_CACHE_HOME", file.path);
  const fs::path target = roots.cache / file.path, part = with_suffix(target, ".part");
  require(found.state == FileState::missing || found.path == target, "{}: {}; it is not ours to replace",
          found.path.string(), found.detail);
  require(!file.url.empty() || !file.pieces.empty(),
          "{}: no URL is known that serves it; put the file{} at {} or into --data's data/", file.path,
          file.sha256.empty() ? "" : " of SHA-256 " + file.sha256, target.string());
  std::error_code failed;
  fs::create_directories(target.parent_path(), failed);
  require(!failed, "{}: cannot be made: {}", target.parent_path().string(), failed.message());
  if (!file.pieces.empty()) {
    join_pieces(file, part, roots.cache, progress);
    accept(file, part, target);
    remove_pieces(file, roots.cache);
    return target;
  }
  if (is_file(part)) {
    const auto bytes = static_cast<int64_t>(fs::file_size(part));
    const bool can_resume = !file.sha256.empty() && (file.bytes < 0 || bytes <= file.bytes);
    if (!can_resume) fs::remove(part);
    if (can_resume && bytes == file.bytes) {  // killed before it was renamed
      accept(file, part, target);
      return target;
    }
  }
  download(file.url, part, file.bytes >= 0 ? file.bytes : most_unknown, progress);
  accept(file, part, target);
  return target;
}

}  // namespace headroom::tasks
