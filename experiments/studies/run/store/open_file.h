#pragma once
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::experiments {

/// What a file system says of a name: two that are equal are one file with the same bytes.
struct FileLook {
  uint64_t inode = 0, bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;  ///< time of change
  const char* other = nullptr;           ///< "a link", "a folder", …; null for a regular file
  bool operator==(const FileLook&) const = default;
  double changed_at() const { return static_cast<double>(seconds) + 1e-9 * static_cast<double>(nanoseconds); }
};

enum class SetAside { move, copy };

/// A folder of a run, held open: its files are reached from here, by name, and no link is followed. So nothing in a
/// run's folder leads out of it, whoever may write there.
class OpenFolder {
 public:
  /// `path` itself may be no link; folders above it may.
  explicit OpenFolder(std::filesystem::path path);
  ~OpenFolder();
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool is_missing() const;
  int fd() const { return fd_; }
  int error() const { return error_; }  ///< errno of the opening
  const std::filesystem::path& path() const { return path_; }
  /// In order. Throws Error naming the folder.
  std::vector<std::string> names() const;
  /// None where there is no such name. Asks the file server, also where attributes are cached.
  std::optional<FileLook> look_at(const std::string& name) const;
  /// Gives whatever has a name another one, NAME.damaged-1 or the first number that is free, and returns that. A copy
  /// is a second name of a file: the first is there for whoever takes it then. Throws Error naming it.
  std::string set_aside(const std::string& name, SetAside how = SetAside::move) const;
  /// Renames, and overwrites nothing: false where the new name is taken. Nothing where there is no such file. Throws
  /// Error naming it.
  bool move(const std::string& name, const std::string& free) const;
  void remove(const std::string& name) const;
  void sync() const;
  /// Throws Error naming the folder and why it could not be opened.
  [[noreturn]] void complain() const;

 private:
  std::filesystem::path path_;
  int fd_, error_;
};

/// A folder that must be there: else throws Error naming it.
struct RequiredFolder : OpenFolder {
  explicit RequiredFolder(const std::filesystem::path& path) : OpenFolder(path) {
    if (!is_open()) complain();
  }
};

/// Makes a folder of a run's folder, and that one. Throws Error naming it, also where a link has its name.
void make_inner_folder(const std::filesystem::path& folder);

/// Whether a name is one that set_aside() gave.
bool is_set_aside(std::string_view name);

/// A regular file of such a folder, open while this lives. Opening never waits, follows no link, and asks the file
/// server anew.
class OpenFile {
 public:
  /// `flags`: as of open(2).
  OpenFile(const OpenFolder& folder, const std::string& name, int flags);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  /// There is no such file; it may just have been removed by another host.
  bool is_missing() const;
  /// False for such a file; true for one that is open, and for other(). Throws Error where it cannot be read.
  bool is_there() const;
  /// An open with O_EXCL found the file.
  bool is_taken() const;
  /// This user may not open it.
  bool is_refused() const;
  /// What has the name instead of a file: "a named pipe", …; null where that is not why.
  const char* other() const { return other_; }
  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }
  FileLook look() const;
  /// Puts bytes [at, at + count), or as many of them as there are, at `to`; returns how many.
  size_t read(size_t at, char* to, size_t count) const;
  /// The same as text.
  std::string read(size_t at, size_t count) const;
  /// Writes at `at`. False, and errno says why, where that fails.
  bool write(size_t at, const std::string& text) const;
  /// Throws Error naming the file and the system's reason.
  [[noreturn]] void complain(const char* what) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1, error_ = 0;
  const char* other_ = nullptr;
};

}  // namespace headroom::experiments
