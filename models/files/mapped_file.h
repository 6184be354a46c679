#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "models/files/regular_file.h"

namespace headroom::models {

/// A file's bytes, mapped read-only and read on access. Movable, not copyable. The bytes survive if another file takes
/// the name; but do not read on if the file is truncated while mapped.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws Error as RegularFile does.
  explicit MappedFile(const std::filesystem::path& path, const FileKind& kind = any_file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  /// Releases the memory of whole pages within bytes [begin, end); later accesses read them from the file again.
  void release(size_t begin, size_t end) const;
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace headroom::models
