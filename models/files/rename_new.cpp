#include "models/files/rename_new.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace headroom::models {

int rename_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code none;
  if (std::filesystem::is_directory(from, none)) {
    const int failed = std::rename(from.c_str(), to.c_str());  // takes the place of nothing but an empty folder
    if (failed != 0 && (errno == ENOTEMPTY || errno == ENOTDIR)) errno = EEXIST;
    return failed;
  }
  const int failed = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (failed == 0 || (errno != EINVAL && errno != ENOSYS)) return failed;
  // A file system without that flag (NFS): an empty file claims the name.
  const int claim = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (claim < 0) return -1;
  close(claim);
  if (std::rename(from.c_str(), to.c_str()) == 0) return 0;
  const int error = errno;
  unlink(to.c_str());
  errno = error;
  return -1;
}

}  // namespace headroom::models
