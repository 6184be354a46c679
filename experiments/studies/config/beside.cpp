#include "experiments/studies/config/beside.h"

#include <filesystem>
#include <system_error>

namespace headroom::experiments {

std::string beside(const Place& place, const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(place.source).parent_path();
  const bool is_setting = place.source.starts_with("--set");
  std::error_code ignored;
  const bool is_here = !std::filesystem::exists(folder / file, ignored) && std::filesystem::exists(file, ignored);
  return (is_setting || is_here ? std::filesystem::path(file) : folder / file).string();
}

}  // namespace headroom::experiments
