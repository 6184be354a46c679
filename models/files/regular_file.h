#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom::models {

/// A kind of file, and its maximum size.
struct FileKind {
  const char* name;     ///< for messages: "study file"
  uint64_t most_bytes;  ///< larger files are refused before reading
  bool is_link_followed = true;
};

constexpr FileKind any_file{"file", UINT64_MAX};
/// A file in a run's folder; links out of the folder are refused.
constexpr FileKind run_file{"file", UINT64_MAX, false};

/// The file type in st_mode, in words ("a named pipe"); null for a regular file.
const char* other_than_regular(mode_t mode);

/// A file opened for reading; every file that users name is opened here. Refuses anything but a regular file at once,
/// without waiting for a named pipe's writer.
class RegularFile {
 public:
  /// Throws Error naming the file and its fault: missing, unreadable, too large or not a regular file.
  explicit RegularFile(const std::filesystem::path& path, const FileKind& kind = any_file);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return fd_; }
  /// Size in bytes when opened.
  uint64_t size() const { return size_; }
  /// Reads up to `count` bytes from where the last call ended; 0 at the end. Throws Error naming the file.
  size_t read(char* bytes, size_t count);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// Reads a whole file. Throws Error as RegularFile does, and if the file grows past its kind's size.
std::string read_file(const std::filesystem::path& path, const FileKind& kind);

}  // namespace headroom::models
