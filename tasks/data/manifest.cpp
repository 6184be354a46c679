#include "tasks/data/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/files/json.h"
#include "tasks/data/manifest_text.h"

namespace headroom::tasks {
namespace {

using Json = nlohmann::json;
using models::quoted_name;

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return "";
  require(found->is_string(), "{} is {}, expected a string", key, models::shown(*found));
  return found->get<std::string>();
}

/// Names of a folder and what is in it: nothing that climbs out.
void check_path(const std::string& path) {
  const bool climbs = ("/" + path + "/").find("/../") != std::string::npos || path.find('\\') != std::string::npos;
  require(!path.empty() && path[0] != '/' && !climbs, "path {} is not one below the data set's folder",
          quoted_name(path));
}

DataFile read_file(const std::string& set, const Json& json) {
  require(json.is_object(), "a file is {}, expected an object", models::shown(json));
  const std::string path = text_of(json, "path");
  check_path(path);
  DataFile file{set + "/" + path, text_of(json, "url"), -1, text_of(json, "sha256")};
  if (const auto bytes = json.find("bytes"); bytes != json.end() && !bytes->is_null()) {
    require(bytes->is_number_unsigned() && bytes->get<uint64_t>() <= INT64_MAX, "{}: bytes is {}", file.path,
            models::shown(*bytes));
    file.bytes = bytes->get<int64_t>();
  }
  const bool is_hash =
      file.sha256.size() == 64 && file.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  require(file.sha256.empty() || is_hash, "{}: sha256 {} is not 64 lower-case hexadecimal digits", file.path,
          quoted_name(file.sha256));
  return file;
}

}  // namespace

const std::vector<DataSet>& built_in_manifest() {
  static const std::vector<DataSet> manifest = parse_manifest(manifest_text());
  return manifest;
}

std::vector<DataSet> parse_manifest(std::string_view json) {
  const Json document = models::parse_json(json);
  require(document.is_object(), "a manifest is an object of data sets");
  std::vector<DataSet> manifest;
  for (const auto& [name, value] : document.items()) {
    check_path(name);
    require(value.is_object() && value.contains("files") && value["files"].is_array(), "{}: has no list files", name);
    DataSet set{name, text_of(value, "title"), text_of(value, "licence"), text_of(value, "source"), {}};
    for (const Json& file : value["files"]) set.files.push_back(read_file(name, file));
    manifest.push_back(std::move(set));
  }
  return manifest;
}

const DataSet& data_set_named(const std::vector<DataSet>& manifest, const std::string& name) {
  const auto found =
      std::find_if(manifest.begin(), manifest.end(), [&](const DataSet& set) { return set.name == name; });
  if (found != manifest.end()) return *found;
  std::string known;
  for (const DataSet& set : manifest) known += (known.empty() ? "" : ", ") + set.name;
  fail("{}: no such data set (there are: {})", name, known);
}

}  // namespace headroom::tasks
