#include "experiments/studies/run/store/open_file.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/error.h"
#include "experiments/studies/run/store/database.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

constexpr std::string_view aside = ".damaged-";

FileLook look_from(const struct stat& status) {
  return {status.st_ino, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
          models::other_than_regular(status.st_mode)};
}

/// No error where a file system cannot say whether the new name is free (NFS): then that is looked up before.
int rename_to_free(int folder, const std::string& name, const std::string& free) {
  if (renameat2(folder, name.c_str(), folder, free.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (faccessat(folder, free.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return renameat(folder, name.c_str(), folder, free.c_str());
  errno = EEXIST;
  return -1;
}

}  // namespace

OpenFolder::OpenFolder(std::filesystem::path path)
    : path_(std::move(path)),
      fd_(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      error_(fd_ < 0 ? errno : 0) {}

OpenFolder::~OpenFolder() {
  if (fd_ >= 0) close(fd_);
}

bool OpenFolder::is_missing() const { return error_ == ENOENT || error_ == ESTALE; }

void OpenFolder::complain() const {
  // What O_NOFOLLOW says of a link is ELOOP, or ENOTDIR beside O_DIRECTORY.
  struct stat status {};
  const bool is_other = fstatat(AT_FDCWD, path_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode);
  const char* const other = is_other ? models::other_than_regular(status.st_mode) : nullptr;
  if (is_other) fail("{}: is {}, not a folder; move it aside", path_.string(), other ? other : "a file");
  fail("{}: cannot be read: {}", path_.string(), std::strerror(error_));
}

std::vector<std::string> OpenFolder::names() const {
  const int own = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a place of its own in the list
  const std::unique_ptr<DIR, int (*)(DIR*)> list(own >= 0 ? fdopendir(own) : nullptr, closedir);
  require(list != nullptr, "{}: cannot be read: {}", path_.string(), std::strerror(errno));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = readdir(list.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  require(errno == 0, "{}: cannot be read: {}", path_.string(), std::strerror(errno));
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<FileLook> OpenFolder::look_at(const std::string& name) const {
  struct statx seen {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC;
  if (statx(fd_, name.c_str(), flags, STATX_BASIC_STATS, &seen) == 0)
    return FileLook{seen.stx_ino, seen.stx_size, seen.stx_mtime.tv_sec, seen.stx_mtime.tv_nsec,
                    models::other_than_regular(seen.stx_mode)};
  struct stat status {};  // old kernels, and some containers, have no statx
  if (fstatat(fd_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return look_from(status);
  require(errno == ENOENT || errno == ESTALE, "{}: cannot be read: {}", (path_ / name).string(), std::strerror(errno));
  return std::nullopt;
}

bool OpenFolder::move(const std::string& name, const std::string& free) const {
  if (rename_to_free(fd_, name, free) == 0 || errno == ENOENT) return true;
  require(errno == EEXIST, "{}: cannot be moved aside: {}", (path_ / name).string(), std::strerror(errno));
  return false;
}

std::string OpenFolder::set_aside(const std::string& name, SetAside how) const {
  for (int n = 1;; ++n) {
    const std::string free = fmt::format("{}{}{}", name, aside, n);
    if (how == SetAside::move && !move(name, free)) continue;
    const bool is_linked = how == SetAside::move || linkat(fd_, name.c_str(), fd_, free.c_str(), 0) == 0;
    if (is_linked) return free;
    require(errno == EEXIST, "{}: cannot be linked: {}", (path_ / free).string(), std::strerror(errno));
  }
}

void make_inner_folder(const std::filesystem::path& folder) {
  struct stat status {};
  if (fstatat(AT_FDCWD, folder.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) make_run_folder(folder);
  const RequiredFolder made(folder);
}

bool is_set_aside(std::string_view name) {
  const size_t at = name.rfind(aside);
  return at != std::string_view::npos && at + aside.size() < name.size() &&
         name.find_first_not_of("0123456789", at + aside.size()) == std::string_view::npos;
}

void OpenFolder::remove(const std::string& name) const { unlinkat(fd_, name.c_str(), 0); }

void OpenFolder::sync() const { fsync(fd_); }  // some file systems cannot sync folders: no error

OpenFile::OpenFile(const OpenFolder& folder, const std::string& name, int flags)
    : path_(folder.path() / name), error_(folder.error()) {
  if (!folder.is_open()) return;
  struct stat status {};
  // What it is, before it is opened: some devices act on being opened.
  const bool is_there = (flags & O_EXCL) == 0 && fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there) other_ = models::other_than_regular(status.st_mode);
  if (other_) return;
  // O_NONBLOCK: another process may have put a named pipe there since, whose open would wait for a writer.
  fd_ = openat(folder.fd(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  const bool is_known = fd_ >= 0 && fstat(fd_, &status) == 0;
  if (!is_known) error_ = errno;
  else other_ = models::other_than_regular(status.st_mode);
  if (fd_ < 0 || (is_known && !other_)) return;
  close(fd_);
  fd_ = -1;
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close(fd_);
}

bool OpenFile::is_missing() const { return error_ == ENOENT || error_ == ESTALE; }

bool OpenFile::is_there() const {
  if (!is_open() && !other_ && !is_missing()) complain("cannot be read");
  return !is_missing();
}

bool OpenFile::is_taken() const { return error_ == EEXIST; }

bool OpenFile::is_refused() const { return error_ == EACCES || error_ == EPERM; }

FileLook OpenFile::look() const {
  struct stat status {};
  if (fstat(fd_, &status) != 0) complain("cannot be read");
  return look_from(status);
}

size_t OpenFile::read(size_t at, char* to, size_t count) const {
  size_t done = 0;
  while (done < count) {
    const ssize_t now = TEMP_FAILURE_RETRY(pread(fd_, to + done, count - done, static_cast<off_t>(at + done)));
    if (now < 0) complain("cannot be read");
    if (now == 0) break;
    done += static_cast<size_t>(now);
  }
  return done;
}

std::string OpenFile::read(size_t at, size_t count) const {
  std::string text(count, '\0');
  text.resize(read(at, text.data(), count));
  return text;
}

bool OpenFile::write(size_t at, const std::string& text) const {
  for (size_t done = 0; done < text.size();) {
    const ssize_t now =
        TEMP_FAILURE_RETRY(pwrite(fd_, text.data() + done, text.size() - done, static_cast<off_t>(at + done)));
    if (now < 0) return false;
    done += static_cast<size_t>(now);
  }
  return true;
}

void OpenFile::complain(const char* what) const {
  fail("{}: {}: {}", path_.string(), what, std::strerror(error_ != 0 ? error_ : errno));
}

}  // namespace headroom::experiments
