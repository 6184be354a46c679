#include "models/files/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "engine/error.h"
#include "models/files/output.h"
#include "models/files/temporary_name.h"

namespace headroom::models {
namespace {

/// Removes the temporary files of this name that killed processes of this host left: those without a lock on them.
void remove_leftovers(const std::filesystem::path& path) {
  for (const std::filesystem::path& file : with_temporary_name(path)) {
    const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(file.c_str());
    close(fd);
  }
}

/// True if the file behind fd is this writer's: locked, and not removed before by another's remove_leftovers(). A file
/// system without locks removes no leftovers either.
bool take(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  // The rename would put a file in a device's place, such as root's /dev/null.
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  require(!std::filesystem::exists(there) || std::filesystem::is_regular_file(there),
          "{}: is {}, which a file would replace; name another", path.string(),
          std::filesystem::is_directory(there) ? "a folder" : "a device or a pipe");
  remove_leftovers(path);
  // O_EXCL: another process's file is never written to.
  for (int n = 0; fd_ < 0; ++n) {
    temporary_ = temporary_name(path, n);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) fail_with_errno("cannot be written");
    if (fd_ >= 0 && !take(fd_)) {
      close(fd_);
      fd_ = -1;
    }
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, size_t count) {
  is_synced_ = false;
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

void AtomicFile::sync() {
  if (!is_synced_ && fsync(fd_) != 0) fail_with_errno("cannot be synced");
  is_synced_ = true;
}

void AtomicFile::commit() {
  sync();
  const bool is_new = is_promised_new(path_);
  const int failed = is_new ? rename_new(temporary_, path_) : std::rename(temporary_.c_str(), path_.c_str());
  require(failed == 0 || !is_new || errno != EEXIST,
          "{}: exists: another command made it meanwhile; --force replaces it", path_.string());
  if (failed != 0) fail_with_errno("cannot be renamed to its final name");
  if (is_new) forget_promise(path_);
  close(fd_);
  fd_ = -1;
  sync_folder(folder_of(path_));
}

void AtomicFile::fail_with_errno(const char* what) const {
  fail("{}: {}: {}", path_.string(), what, std::strerror(errno));
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace headroom::models
