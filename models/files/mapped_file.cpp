#include "models/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/error.h"

namespace headroom::models {
namespace {

/// Closes a file descriptor on every way out.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd_) : fd(fd_) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK: the open of a named pipe would wait for a writer before we could refuse it.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  require(file.fd >= 0, "{}: cannot be read: {}", path.string(), std::strerror(errno));
  struct stat status {};
  require(fstat(file.fd, &status) == 0, "{}: cannot be read: {}", path.string(), std::strerror(errno));
  require(S_ISREG(status.st_mode), "{}: is {}, a file is wanted", path.string(),
          S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;  // mmap refuses an empty range
  void* block = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
  require(block != MAP_FAILED, "{}: {} bytes cannot be mapped: {}", path.string(), size_, std::strerror(errno));
  data_ = static_cast<const uint8_t*>(block);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace headroom::models
