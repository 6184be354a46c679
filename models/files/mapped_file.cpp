#include "models/files/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/error.h"

namespace headroom::models {

MappedFile::MappedFile(const std::filesystem::path& path, const FileKind& kind) {
  const RegularFile file(path, kind);
  size_ = static_cast<size_t>(file.size());
  if (size_ == 0) return;  // mmap refuses an empty range
  void* block = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  require(block != MAP_FAILED, "{}: {} bytes cannot be mapped: {}", path.string(), size_, std::strerror(errno));
  data_ = static_cast<const uint8_t*>(block);
  // A hint: where the system can, what it reads now lies in pages of 2 MiB, of which a processor reads half as much
  // again a second.
  madvise(block, size_, MADV_HUGEPAGE);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::release(size_t begin, size_t end) const {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t first = (begin + page - 1) / page * page, last = std::min(end, size_) / page * page;
  // A hint: pages that stay cost memory, not results.
  if (first < last) madvise(const_cast<uint8_t*>(data_) + first, last - first, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace headroom::models
