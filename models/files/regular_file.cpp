#include "models/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/error.h"

namespace headroom::models {
namespace {

[[noreturn]] void too_large(const std::filesystem::path& path, uint64_t bytes, const FileKind& kind) {
  fail("{}: has {} bytes; a {} may have {}", path.string(), bytes, kind.name, kind.most_bytes);
}

}  // namespace

const char* other_than_regular(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

RegularFile::RegularFile(const std::filesystem::path& path, const FileKind& kind) : path_(path) {
  // A name with a zero byte would be cut there, and another file opened.
  require(path.string().find('\0') == std::string::npos, "{}: a file's name holds no zero byte", path.c_str());
  require(!path.empty(), "'': the name of a {} is empty", kind.name);
  struct stat status {};
  // Check the type before opening: some devices act on being opened.
  const int no_follow = kind.is_link_followed ? 0 : AT_SYMLINK_NOFOLLOW;
  const bool is_known = fstatat(AT_FDCWD, path.c_str(), &status, no_follow) == 0;
  if (is_known)
    if (const char* what = other_than_regular(status.st_mode))
      fail("{}: is {}, not a {}", path.string(), what, kind.name);
  // O_NONBLOCK: another process may have put a named pipe there since, whose open would wait for a writer.
  fd_ = is_known ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (no_follow != 0 ? O_NOFOLLOW : 0)) : -1;
  require(fd_ >= 0, "{}: cannot read the {}: {}", path.string(), kind.name, std::strerror(errno));
  const char* what = fstat(fd_, &status) == 0 ? other_than_regular(status.st_mode) : "gone";
  size_ = static_cast<uint64_t>(status.st_size);
  if (what == nullptr && size_ <= kind.most_bytes) return;
  close(fd_);
  if (what == nullptr) too_large(path, size_, kind);
  fail("{}: is {}, not a {}", path.string(), what, kind.name);
}

RegularFile::~RegularFile() { close(fd_); }

size_t RegularFile::read(char* bytes, size_t count) {
  constexpr size_t most = size_t{1} << 30;  // Linux reads less than 2 GiB in one call
  const ssize_t got = TEMP_FAILURE_RETRY(::read(fd_, bytes, std::min(count, most)));
  require(got >= 0, "{}: cannot be read: {}", path_.string(), std::strerror(errno));
  return static_cast<size_t>(got);
}

std::string read_file(const std::filesystem::path& path, const FileKind& kind) {
  RegularFile file(path, kind);
  constexpr size_t step = size_t{1} << 16;  // files of /proc say that they have 0 bytes
  std::string bytes;
  size_t count = 0;
  do {
    const size_t before = bytes.size();
    bytes.resize(before + std::max(step, static_cast<size_t>(file.size()) - std::min<size_t>(before, file.size()) + 1));
    count = file.read(bytes.data() + before, bytes.size() - before);
    bytes.resize(before + count);
    if (bytes.size() > kind.most_bytes) too_large(path, bytes.size(), kind);
  } while (count > 0);
  return bytes;
}

}  // namespace headroom::models
