#include "experiments/report/file.h"

#include <system_error>

#include "engine/error.h"
#include "models/files/atomic_file.h"

namespace headroom::experiments {

void write_file(const std::filesystem::path& path, const std::string& text) {
  models::AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "cannot make folder {}: {}", folder.string(), error.message());
  // create_directories accepts an existing path of any kind when it ends in a slash.
  require(std::filesystem::is_directory(folder, error), "cannot write into {}: not a folder", folder.string());
}

}  // namespace headroom::experiments
