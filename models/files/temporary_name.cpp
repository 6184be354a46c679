#include "models/files/temporary_name.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/error.h"
#include "models/files/entries_of.h"

namespace headroom::models {

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

std::string temporary_prefix(const std::filesystem::path& target) {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return fmt::format(".{}.{}+", target.filename().string(), host);
}

std::filesystem::path temporary_name(const std::filesystem::path& target, int n) {
  return target.parent_path() / fmt::format("{}{}-{}.tmp", temporary_prefix(target), getpid(), n);
}

std::vector<std::filesystem::path> with_temporary_name(const std::filesystem::path& target) {
  std::vector<std::filesystem::path> found = entries_if_any(folder_of(target), ".tmp");
  std::erase_if(found, [prefix = temporary_prefix(target)](const std::filesystem::path& path) {
    return !path.filename().string().starts_with(prefix);
  });
  return found;
}

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

void sync_folder(const std::filesystem::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // not listable: nothing more can be done
  fsync(fd);           // some file systems cannot sync folders: no error
  close(fd);
}

}  // namespace headroom::models
