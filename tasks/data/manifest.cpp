#include "tasks/data/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "models/files/json.h"

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

/// Throws Error for a path outside the data set's folder.
void check_path(const std::string& path) {
  const bool climbs = ("/" + path + "/").find("/../") != std::string::npos || path.find('\\') != std::string::npos;
  require(!path.empty() && path[0] != '/' && !climbs, "path {} is not one below the data set's folder",
          quoted_name(path));
}

int64_t bytes_of(const Json& json, const std::string& path) {
  const auto bytes = json.find("bytes");
  if (bytes == json.end() || bytes->is_null()) return -1;
  require(bytes->is_number_unsigned() && bytes->get<uint64_t>() <= INT64_MAX, "{}: bytes is {}", path,
          models::shown(*bytes));
  return bytes->get<int64_t>();
}

void check_hash(const std::string& hash, const std::string& path) {
  const bool is_hash = hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  require(hash.empty() || is_hash, "{}: sha256 {} is not 64 lower-case hexadecimal digits", path, quoted_name(hash));
}

DataFile read_file(const std::string& set, const Json& json) {
  require(json.is_object(), "a file is {}, expected an object", models::shown(json));
  const std::string path = text_of(json, "path");
  check_path(path);
  DataFile file{set + "/" + path, text_of(json, "url"), -1, text_of(json, "sha256")};
  file.bytes = bytes_of(json, file.path);
  check_hash(file.sha256, file.path);
  const auto pieces = json.find("pieces");
  if (pieces == json.end()) return file;
  require(pieces->is_array() && file.url.empty() && !file.sha256.empty(),
          "{}: pieces is {}; expected a list, in a file with a sha256 and without a url", file.path,
          models::shown(*pieces));
  for (const Json& piece : *pieces) {
    require(piece.is_object(), "{}: a piece is {}, expected an object", file.path, models::shown(piece));
    file.pieces.push_back(
        {text_of(piece, "url"), text_of(piece, "member"), bytes_of(piece, file.path), text_of(piece, "sha256")});
    check_hash(file.pieces.back().sha256, file.path);
  }
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

DataSet data_set_named(const std::vector<DataSet>& manifest, const std::string& name) {
  std::string known;
  for (const DataSet& set : manifest) {
    if (set.name == name) return set;
    for (const DataFile& file : set.files)
      if (file.path == name) return {set.name, set.title, set.licence, set.source, {file}};
    known += (known.empty() ? "" : ", ") + set.name;
  }
  fail("{}: no such data set (there are: {})", name, known);
}

}  // namespace headroom::tasks
