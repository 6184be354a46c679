#include "experiments/output/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "engine/error.h"
#include "models/files/atomic_file.h"

namespace headroom::experiments {

void write_file(const std::filesystem::path& path, const std::string& text) {
  models::AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void check_file(const std::filesystem::path& path, bool makes_folders) {
  std::error_code none;
  std::filesystem::path folder = path.parent_path();
  while (makes_folders && !folder.empty() && !std::filesystem::exists(folder, none)) folder = folder.parent_path();
  if (folder == path.parent_path()) {
    const models::AtomicFile tried(path);  // removes the file unless it is committed
    return;
  }
  // Folders are made only once there is something to put into them.
  if (folder.empty()) folder = ".";
  require(std::filesystem::is_directory(folder, none), "{}: cannot be written: {} is no folder", path.string(),
          folder.string());
  require(access(folder.c_str(), W_OK | X_OK) == 0, "{}: cannot be written: {}: {}", path.string(), folder.string(),
          std::strerror(errno));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "cannot make folder {}: {}", folder.string(), error.message());
  // create_directories accepts an existing path of any kind when it ends in a slash.
  require(std::filesystem::is_directory(folder, error), "cannot write into {}: not a folder", folder.string());
}

}  // namespace headroom::experiments
