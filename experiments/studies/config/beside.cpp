#include "experiments/studies/config/beside.h"

#include <filesystem>

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const Place& place) { return fs::path(place.source).parent_path(); }

bool is_file_or_folder(const fs::path& path) {
  std::error_code unreadable;  // counts as absent
  return fs::exists(path, unreadable);
}

}  // namespace

std::string beside(const Place& place, const std::string& file) {
  const fs::path path = folder_of(place) / file;
  const bool is_setting = place.source.starts_with("--set");
  return is_setting || (!is_file_or_folder(path) && is_file_or_folder(file)) ? file : path.string();
}

std::string beside_study(const Reader& in, const std::string& key, const std::string& path) {
  const fs::path beside = folder_of(in.place(key)) / path;
  return !path.empty() && is_file_or_folder(beside) ? beside.lexically_normal().string() : path;
}

}  // namespace headroom::experiments
