#include "models/checkpoints/safetensors_folder.h"

#include <fmt/ranges.h>

#include <set>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/checkpoints/not_a_model.h"
#include "models/files/json.h"
#include "models/files/mapped_file.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The index's map from tensors to the names of files, which must be names of this folder's files.
std::map<std::string, std::string> read_weight_map(const fs::path& index) {
  const MappedFile file(index);
  return naming(index.string(), [&] {
    std::map<std::string, std::string> shards;
    const Json json = parse_json(file.text());
    const Json& map = member(json, "weight_map");
    require(map.is_object(), "weight_map: expected an object");
    for (const auto& [tensor, shard] : map.items()) {
      require(shard.is_string(), "weight_map: {}: {} is no file name", quoted_name(tensor), shown(shard));
      const std::string name = shard.get<std::string>();
      require(!name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
                  name.find('\0') == std::string::npos,
              "weight_map: {}: {} is no name of a file in this folder", quoted_name(tensor), quoted_name(name));
      shards[tensor] = name;
    }
    return shards;
  });
}

}  // namespace

SafetensorsFolder::SafetensorsFolder(const fs::path& folder) : folder_(folder) {
  const fs::path index = folder / "model.safetensors.index.json", whole = folder / "model.safetensors";
  std::error_code unreadable;
  if (fs::exists(index, unreadable)) {
    read_index(index);
    return;
  }
  if (!fs::exists(whole, unreadable)) complain_of_weights(folder);
  const auto file = std::make_shared<const SafetensorsFile>(whole);
  for (const std::string& name : file->names()) tensors_[name] = {file, name};
}

void SafetensorsFolder::read_index(const fs::path& index) {
  const std::map<std::string, std::string> shards = read_weight_map(index);
  std::set<std::string> missing;
  std::error_code unreadable;
  for (const auto& [tensor, shard] : shards) missing.insert(shard);
  std::erase_if(missing, [&](const std::string& shard) { return fs::exists(folder_ / shard, unreadable); });
  require(missing.empty(), "{}: names files that are not there: {}: fetch them from where the others came",
          index.string(), excerpt(fmt::format("{}", fmt::join(missing, ", ")), 200));
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files;
  for (const auto& [tensor, shard] : shards) {
    std::shared_ptr<const SafetensorsFile>& file = files[shard];
    if (!file) file = std::make_shared<const SafetensorsFile>(folder_ / shard);
    require(file->contains(tensor), "{}: weight_map: {} has no tensor {}", index.string(), quoted_name(shard),
            quoted_name(tensor));
    tensors_[tensor] = {file, tensor};
  }
  size_t elsewhere = 0;
  for (const auto& [shard, file] : files)
    for (const std::string& tensor : file->names()) {
      const auto found = shards.find(tensor);
      require(found != shards.end(), "{}: weight_map: lacks tensor {} of {}", index.string(), quoted_name(tensor),
              shard);
      elsewhere += found->second == shard ? 0 : 1;
    }
  if (elsewhere > 0)
    notes_.push_back(fmt::format("{}: {} tensors lie in more than one file; those that the index names are read",
                                 index.string(), elsewhere));
  const char* whole = "model.safetensors";
  if (!files.contains(whole) && fs::exists(folder_ / whole, unreadable))
    notes_.push_back(fmt::format("{}: not read: model.safetensors.index.json beside it names other files",
                                 (folder_ / whole).string()));
}

void SafetensorsFolder::rename(const std::function<std::string(const std::string&)>& f) {
  std::map<std::string, Place> renamed;
  for (const auto& [name, place] : tensors_) {
    const auto [other, is_new] = renamed.emplace(f(name), place);
    require(is_new, "{}: tensors {} and {} are both {} of the model", place.file->path().string(),
            quoted_name(other->second.name), quoted_name(place.name), quoted_name(other->first));
  }
  tensors_ = std::move(renamed);
}

const SafetensorsFolder::Place& SafetensorsFolder::at(const std::string& name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "{}: has no tensor {}", folder_.string(), quoted_name(name));
  return found->second;
}

std::vector<std::string> SafetensorsFolder::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : tensors_) names.push_back(name);
  return names;
}

std::string SafetensorsFolder::place(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? folder_.string() : found->second.file->path().string();
}

}  // namespace headroom::models
