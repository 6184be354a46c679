#include "experiments/studies/config/shipped_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <system_error>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/toml/reader.h"
#include "experiments/studies/toml/value.h"
#include "models/files/entries_of.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// HEADROOM_SHARE, else PREFIX/share/headroom for the running PREFIX/bin/headroom; empty if the system does not say
/// which program runs. Relative to the program, not compiled in: installations may be moved.
fs::path share_folder() {
  if (const char* const given = std::getenv("HEADROOM_SHARE"); given && *given) return given;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path() / "share" / "headroom";
}

bool is_there(const fs::path& path) {
  std::error_code unreadable;  // counts as absent
  return fs::exists(path, unreadable);
}

bool is_a_folder(const fs::path& path) {
  std::error_code unreadable;
  return fs::is_directory(path, unreadable);
}

/// True if a file is a study with that id; false if it is not readable as TOML.
bool is_study_of(const fs::path& file, const std::string& id) {
  try {
    return text_at(read_toml(file.string()), "study.id") == id;
  } catch (const Error&) {
    return false;
  }
}

fs::path folder_of(const Place& place) { return fs::path(place.source).parent_path(); }

}  // namespace

std::vector<fs::path> toml_files(const fs::path& folder) { return models::entries_if_any(folder, ".toml"); }

fs::path shipped_file(const std::string& path) {
  if (is_there(path) || fs::path(path).is_absolute()) return path;
  const fs::path share = share_folder();
  return !share.empty() && is_there(share / path) ? share / path : fs::path(path);
}

fs::path study_file(const std::string& name) {
  if (!is_folder_name(name)) return shipped_file(name);
  if (is_there(name) && !is_a_folder(name)) return name;
  for (const std::string& path : {name + ".toml", "experiments/" + name + ".toml"})
    if (const fs::path found = shipped_file(path); is_there(found)) return found;
  std::vector<std::string> found;
  for (const char* folder : {".", "experiments"})
    for (const fs::path& file : toml_files(folder))
      if (is_study_of(file, name)) found.push_back(file.lexically_normal().string());
  require(found.size() <= 1, "{}: is the id of {}: name the file", name, fmt::join(found, " and of "));
  if (!found.empty()) return found[0];
  std::set<std::string> ids;
  for (const ShippedStudy& study : shipped_studies()) ids.insert(study.id);
  std::string near = nearest_path(name, ids);
  if (const auto begins = ids.lower_bound(name); near.empty() && begins != ids.end() && begins->starts_with(name))
    near = *begins;
  fail("{}: is neither a study file nor the id of a study here; {}", excerpt(name),
       near.empty() ? "headroom list shows those that there are" : fmt::format("did you mean {}?", near));
}

std::vector<ShippedStudy> shipped_studies() {
  std::vector<ShippedStudy> studies;
  for (const fs::path& file : toml_files(shipped_file("experiments"))) studies.push_back({file.stem().string(), file});
  return studies;
}

std::string beside(const Place& place, const std::string& file) {
  const fs::path path = folder_of(place) / file;
  const bool is_setting = place.source.starts_with("--set");
  return is_setting || (!is_there(path) && is_there(file)) ? file : path.string();
}

std::string beside_study(const Reader& in, const std::string& key, const std::string& path) {
  const fs::path beside = folder_of(in.place(key)) / path;
  return !path.empty() && is_there(beside) ? beside.lexically_normal().string() : path;
}

}  // namespace headroom::experiments
