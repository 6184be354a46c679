#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "models/files/regular_file.h"

namespace headroom::models {

/// A file's bytes, mapped read-only: nothing is read before it is looked at. Movable, not copyable. The bytes stay what
/// they were when another file takes the name; a file that is cut short while it is mapped must not be read on.
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
  /// Gives the memory of the pages within bytes [begin, end) back; whoever looks there again reads them from the file.
  void release(size_t begin, size_t end) const;
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace headroom::models
