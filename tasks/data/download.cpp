#include "tasks/data/fetch.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

constexpr int64_t connect_seconds = 30, silent_seconds = 60, redirects = 10;
constexpr int64_t range_not_satisfiable = 416;  ///< HTTP: nothing is at or after the byte asked for

/// The file being written, locked against other processes.
class PartFile {
 public:
  PartFile(const fs::path& path, int64_t most_bytes)
      : path_(path),
        fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666)),
        most_(most_bytes) {
    require(fd_ >= 0, "{}: cannot be written: {}", path.string(), std::strerror(errno));
    const bool locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (locked && is_in_place()) return;
    close(fd_);
    fail("{}: another process is downloading it", path.string());
  }
  ~PartFile() { close(fd_); }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  int64_t size() const {
    struct stat status {};
    return fstat(fd_, &status) == 0 ? status.st_size : 0;
  }
  void clear() const {
    require(ftruncate(fd_, 0) == 0, "{}: cannot be emptied: {}", path_.string(), std::strerror(errno));
  }
  /// False when the disk takes no more, or the file would pass its size.
  bool append(const char* bytes, size_t count) {
    if (static_cast<int64_t>(count) > most_ - size()) {
      is_too_long_ = true;
      return false;
    }
    while (count > 0) {
      const ssize_t written = write(fd_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        error_ = std::strerror(errno);
        return false;
      }
      bytes += written;
      count -= static_cast<size_t>(written);
    }
    return true;
  }
  void sync() const { require(fsync(fd_) == 0, "{}: cannot be synced: {}", path_.string(), std::strerror(errno)); }
  const std::string& error() const { return error_; }
  bool is_too_long() const { return is_too_long_; }
  const fs::path& path() const { return path_; }

 private:
  /// True if the lock is on the file of this name: another process may have renamed the one we opened.
  bool is_in_place() const {
    struct stat ours {
    }, there{};
    return fstat(fd_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_ino == there.st_ino;
  }

  fs::path path_;
  int fd_;
  int64_t most_;
  bool is_too_long_ = false;
  std::string error_;
};

size_t on_bytes(char* bytes, size_t size, size_t count, void* file) {
  return static_cast<PartFile*>(file)->append(bytes, size * count) ? size * count : 0;
}

struct Watched {
  const DownloadProgress* progress;
  int64_t before;  ///< bytes that were there already
};

int on_progress(void* context, curl_off_t total, curl_off_t done, curl_off_t /*to upload*/, curl_off_t /*uploaded*/) {
  const auto& watched = *static_cast<const Watched*>(context);
  if (*watched.progress) (*watched.progress)(watched.before + done, total > 0 ? watched.before + total : 0);
  return 0;
}

/// libcurl's global state, for as long as the program runs.
void initialize_curl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  require(code == CURLE_OK, "libcurl does not start: {}", curl_easy_strerror(code));
}

struct Transfer {
  CURLcode code;
  int64_t status, promised;  ///< of HTTP; bytes that the server announced, -1 for unknown
  std::string message;
};

Transfer transfer(const std::string& url, PartFile& file, int64_t from, const DownloadProgress& progress) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> owner(curl_easy_init(), &curl_easy_cleanup);
  CURL* curl = owner.get();
  require(curl != nullptr, "libcurl gives no handle");
  std::array<char, CURL_ERROR_SIZE> message{};
  Watched watched{&progress, from};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, static_cast<long>(redirects));
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);  // a page that says "not found" is not the file
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "headroom");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(connect_seconds));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(silent_seconds));
  curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(from));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &file);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &watched);
  const CURLcode code = curl_easy_perform(curl);
  long status = 0;
  curl_off_t promised = -1;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &promised);
  return {code, status, promised, message[0] != '\0' ? message.data() : curl_easy_strerror(code)};
}

}  // namespace

void download(const std::string& url, const fs::path& path, int64_t most_bytes, const DownloadProgress& progress) {
  initialize_curl();
  PartFile file(path, most_bytes);
  int64_t from = file.size();
  Transfer done = transfer(url, file, from, progress);
  const bool cannot_resume = done.code == CURLE_RANGE_ERROR || done.status == range_not_satisfiable;
  if (from > 0 && cannot_resume) {
    file.clear();
    from = 0;
    done = transfer(url, file, from, progress);
  }
  if (file.is_too_long()) {
    unlink(path.c_str());
    fail("{}: sends more than the {} bytes that are expected; nothing of it is kept", url, most_bytes);
  }
  require(file.error().empty(), "{}: cannot be written: {}", path.string(), file.error());
  if (done.code == CURLE_PARTIAL_FILE && done.promised >= 0)
    fail("{}: the connection ended at {} of {} bytes; the same command goes on from there", url, file.size(),
         from + done.promised);
  require(done.code == CURLE_OK, "{}: {}", url, done.message);
  file.sync();
}

}  // namespace headroom::tasks
