#include "experiments/report/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "engine/error.h"

namespace headroom::experiments {

void write_file(const std::filesystem::path& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path.string(), getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool ok = file >= 0;
  for (size_t done = 0; ok && done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    ok = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) done += static_cast<size_t>(n);
  }
  // A full disk may show only when the data are flushed.
  ok = ok && fsync(file) == 0;
  int reason = ok ? 0 : errno;
  if (file >= 0 && close(file) != 0 && ok) ok = false, reason = errno;
  if (ok && rename(temporary.c_str(), path.c_str()) != 0) ok = false, reason = errno;
  if (ok) return;
  if (file >= 0) unlink(temporary.c_str());
  fail("cannot write {}: {}", path.string(), std::generic_category().message(reason));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "cannot make folder {}: {}", folder.string(), error.message());
  // create_directories accepts an existing path of any kind when it ends in a slash.
  require(std::filesystem::is_directory(folder, error), "cannot write into {}: not a folder", folder.string());
}

}  // namespace headroom::experiments
