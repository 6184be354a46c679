#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom::models {

/// What a file is read as, and how large it may be.
struct FileKind {
  const char* name;     ///< for messages: "study file"
  uint64_t most_bytes;  ///< one that is larger is refused before it is read
  bool is_link_followed = true;
};

constexpr FileKind any_file{"file", UINT64_MAX};
/// A file of a run's folder, out of which nothing leads.
constexpr FileKind run_file{"file", UINT64_MAX, false};

/// The type that st_mode has, in words ("a named pipe"); null for a regular file.
const char* other_than_regular(mode_t mode);

/// A file opened for reading: everything that users name is opened here. Anything but a regular file is refused at
/// once, a named pipe without waiting for a writer.
class RegularFile {
 public:
  /// Throws Error naming the file, and what it is, when it is missing, unreadable, too large or not a regular file.
  explicit RegularFile(const std::filesystem::path& path, const FileKind& kind = any_file);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return fd_; }
  /// In bytes, when it was opened.
  uint64_t size() const { return size_; }
  /// Reads up to `count` bytes from where the last call ended; 0 at the end. Throws Error naming the file.
  size_t read(char* bytes, size_t count);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

/// All bytes of a file. Throws Error as RegularFile does, and when the file grows past its kind's size.
std::string read_file(const std::filesystem::path& path, const FileKind& kind);

}  // namespace headroom::models
