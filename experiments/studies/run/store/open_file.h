#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "engine/error.h"

namespace headroom::experiments {

/// A file of a shared folder, open while this lives. Opening asks the file server anew, also where attributes are
/// cached.
class OpenFile {
 public:
  /// `flags`: as of open(2).
  OpenFile(const std::filesystem::path& path, int flags)
      : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)), error_(fd_ < 0 ? errno : 0) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  /// There is no such file; it may just have been removed by another host.
  bool is_missing() const { return error_ == ENOENT || error_ == ESTALE; }
  /// An open with O_EXCL found the file.
  bool is_taken() const { return error_ == EEXIST; }
  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }
  struct stat status() const {
    struct stat status {};
    if (fstat(fd_, &status) != 0) complain("cannot be read");
    return status;
  }
  /// Seconds since 1970.
  double changed_at() const {
    const struct stat now = status();
    return static_cast<double>(now.st_mtim.tv_sec) + 1e-9 * static_cast<double>(now.st_mtim.tv_nsec);
  }
  /// Bytes [at, at + count), or as many of them as there are.
  std::string read(size_t at, size_t count) const {
    std::string text(count, '\0');
    size_t done = 0;
    while (done < count) {
      const ssize_t now = pread(fd_, text.data() + done, count - done, static_cast<off_t>(at + done));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) complain("cannot be read");
      if (now == 0) break;
      done += static_cast<size_t>(now);
    }
    text.resize(done);
    return text;
  }
  /// Writes at `at`. False, and errno says why, where that fails.
  bool write(size_t at, const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t now = pwrite(fd_, text.data() + done, text.size() - done, static_cast<off_t>(at + done));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) return false;
      done += static_cast<size_t>(now);
    }
    return true;
  }
  /// Throws Error naming the file and the system's reason.
  [[noreturn]] void complain(const char* what) const {
    fail("{}: {}: {}", path_.string(), what, std::strerror(error_ != 0 ? error_ : errno));
  }

 private:
  std::filesystem::path path_;
  int fd_, error_;
};

}  // namespace headroom::experiments
