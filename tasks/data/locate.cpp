#include "tasks/data/locate.h"

#include <cstdlib>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

namespace fs = std::filesystem;

/// An environment variable; XDG's rule is that one which is empty or no absolute path counts as unset.
fs::path absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  const fs::path path = value != nullptr ? value : "";
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

std::vector<fs::path> data_folders(const DataRoots& roots) {
  std::vector<fs::path> folders;
  if (!roots.given.empty()) folders.push_back(roots.given / "data");
  if (!roots.cache.empty()) folders.push_back(roots.cache);
  return folders;
}

fs::path default_cache() {
  if (const fs::path cache = absolute_variable("XDG_CACHE_HOME"); !cache.empty()) return cache / "headroom";
  if (const fs::path home = absolute_variable("HOME"); !home.empty()) return home / ".cache" / "headroom";
  return {};
}

DataRoots data_roots(const std::string& given) {
  const char* variable = std::getenv("HEADROOM_DATA");
  std::error_code unreadable;
  require(given.empty() || fs::is_directory(given, unreadable), "{}: not a folder (--data)", given);
  return {!given.empty() || variable == nullptr ? given : variable, default_cache()};
}

fs::path find_data(const DataRoots& roots, const std::string& name) {
  std::string searched;
  for (const fs::path& folder : data_folders(roots)) {
    std::error_code unreadable;  // counts as absent
    if (fs::exists(folder / name, unreadable)) return folder / name;
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  fail("{}: not found in {} (headroom data fetch {}, or name the folder that holds data/ by --data or HEADROOM_DATA)",
       name, searched.empty() ? "any folder: none is set" : searched, fs::path(name).begin()->string());
}

fs::path find_model(const DataRoots& roots, const std::string& name) {
  std::vector<fs::path> places{name};
  if (!roots.given.empty()) places.push_back(roots.given / "models" / name);
  if (!roots.cache.empty()) places.push_back(roots.cache / "models" / name);
  std::string searched;
  for (const fs::path& place : places) {
    std::error_code unreadable;  // counts as absent
    if (fs::exists(place, unreadable)) return place;
    searched += (searched.empty() ? "" : ", ") + place.string();
  }
  throw MissingModel(fmt::format(
      "{}: there is no such model at {}: expected a GGUF file or a Hugging Face folder (headroom data fetch models, or "
      "--data or HEADROOM_DATA names the folder that holds models/)",
      name, searched));
}

std::string named_model(const std::string& name) {
  std::error_code unreadable;  // counts as absent
  if (fs::exists(name, unreadable)) return name;
  const DataRoots roots = data_roots("");
  for (const fs::path& root : {roots.given, roots.cache})
    if (!root.empty() && !name.empty() && fs::exists(root / "models" / name, unreadable))
      return (root / "models" / name).string();
  return name;
}

std::string named_text(const std::string& name) {
  std::error_code unreadable;  // counts as absent
  if (fs::exists(name, unreadable)) return name;
  for (const fs::path& folder : data_folders(data_roots("")))
    if (!name.empty() && fs::exists(folder / name, unreadable)) return (folder / name).string();
  return name;
}

}  // namespace headroom::tasks
