#include "models/files/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/error.h"

namespace headroom::models {

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  // O_EXCL: neither another process's file nor one that a killed process left is ever written to.
  for (int n = 0; fd_ < 0; ++n) {
    temporary_ = path.parent_path() / fmt::format(".{}.{}-{}.tmp", path.filename().string(), getpid(), n);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) fail_with_errno("cannot be written");
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, size_t count) {
  constexpr size_t most = size_t{1} << 30;  // Linux writes less than 2 GiB in one call
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(fd_, next, std::min(count, most));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno("cannot be written");
    next += written;
    count -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(fd_) != 0) fail_with_errno("cannot be synced");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot be renamed to its final name");
  close(fd_);
  fd_ = -1;
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return;  // written, but not listable: nothing more can be done
  fsync(folder_fd);           // some file systems know no sync of folders: no error
  close(folder_fd);
}

void AtomicFile::fail_with_errno(const char* what) const {
  fail("{}: {}: {}", path_.string(), what, std::strerror(errno));
}

}  // namespace headroom::models
