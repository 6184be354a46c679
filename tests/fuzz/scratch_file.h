#pragma once
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace headroom::fuzz {

/// A file of the given name in a folder of this process's own, for readers that go by name. The folder goes with it.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("headroom-fuzz-" + std::to_string(getpid()))),
        path_(folder_ / name) {
    std::filesystem::create_directories(path_.parent_path());
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& path() const { return path_; }

  /// The file with these bytes. A new file each time: what is still mapped of the last one stays as it was.
  const std::filesystem::path& holding(const uint8_t* data, size_t size) const {
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path_;
  }

 private:
  std::filesystem::path folder_, path_;
};

}  // namespace headroom::fuzz
