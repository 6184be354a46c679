#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/safetensors/safetensors.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// The safetensors files of a folder: model.safetensors, or the shards that model.safetensors.index.json names.
class SafetensorsFolder : public TensorStore {
 public:
  /// Throws Error naming the file and what is wrong: a shard that is missing or lies outside the folder, a tensor that
  /// the index puts where it is not, one that no entry of the index names.
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return file_of_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return file(name).entry(name).shape; }
  std::string type(const std::string& name) const override { return safetensors_name(file(name).entry(name).dtype); }
  StoredTensor read(const std::string& name) const override { return file(name).mapped(name); }
  void release(const std::string& name) const override { file(name).release(name); }
  std::string place(const std::string& name) const override;

 private:
  void read_index(const std::filesystem::path& index);
  void add(std::shared_ptr<const SafetensorsFile> file);
  const SafetensorsFile& file(const std::string& name) const;

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> file_of_;  ///< by tensor
};

}  // namespace headroom::models
