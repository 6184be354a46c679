#include "models/files/staging_folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "engine/error.h"
#include "models/files/temporary_name.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

/// A lock on a folder that its process holds while it lives; -1 where another holds it.
int lock_of(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -1;
  struct stat status {};
  const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (is_free && fstat(fd, &status) == 0 && status.st_nlink > 0) return fd;  // not removed before it was locked
  close(fd);
  return -1;
}

/// Removes the folders of this name whose processes, of this host, were killed.
void remove_killed(const fs::path& target) {
  for (const fs::path& folder : with_temporary_name(target)) {
    std::error_code unreadable;
    if (!fs::is_directory(folder, unreadable)) continue;
    const int lock = lock_of(folder);
    if (lock < 0) continue;
    fs::remove_all(folder, unreadable);
    close(lock);
  }
}

}  // namespace

StagingFolder::StagingFolder(fs::path target) : target_(std::move(target)) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "folder/"
  require(target_.has_filename() && target_.filename() != "." && target_.filename() != "..",
          "{}: is no name of a file or folder to be written", target_.string());
  std::error_code none;
  require(fs::exists(folder_of(target_), none), "{}: cannot be written: there is no folder {}", target_.string(),
          folder_of(target_).string());
  remove_killed(target_);
  for (int n = 0; lock_ < 0; ++n) {
    folder_ = folder_of(target_) / temporary_name(target_, n).filename();
    std::error_code error;
    const bool is_new = fs::create_directory(folder_, error);
    require(!error, "{}: cannot be written: {}", target_.string(), error.message());
    if (is_new) lock_ = lock_of(folder_);
  }
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  close(lock_);
}

int StagingFolder::replace_in_steps(const fs::path& made) const {
  std::error_code none;
  const bool is_folder = fs::is_directory(fs::symlink_status(target_, none));
  if (is_folder && std::rename(target_.c_str(), (folder_ / "replaced").c_str()) != 0) return -1;
  return std::rename(made.c_str(), target_.c_str());
}

void StagingFolder::publish(const fs::path& name, Replace replace) {
  const fs::path made = folder_ / name;
  sync_folder(made);
  int failed = rename_new(made, target_);
  if (failed != 0 && errno == EEXIST && replace == Replace::allowed) {
    // The old target moves to the staging folder and is deleted with it.
    failed = renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) failed = replace_in_steps(made);
  }
  require(failed == 0 || errno != EEXIST, "{}: exists: another command made it meanwhile; --force replaces it",
          target_.string());
  require(failed == 0, "{}: cannot take its name: {}", target_.string(), std::strerror(errno));
  sync_folder(folder_of(target_));
}

}  // namespace headroom::models
