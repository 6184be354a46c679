#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/safetensors/safetensors.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// A folder's safetensors files: the shards in model.safetensors.index.json, or else model.safetensors.
class SafetensorsFolder : public TensorStore {
 public:
  /// Throws Error naming the file and the fault: a shard missing or outside the folder, a tensor not in the shard that
  /// the index names, or one missing from the index.
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return tensors_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return entry(name).shape; }
  std::string type(const std::string& name) const override { return safetensors_name(entry(name).dtype); }
  StoredTensor read(const std::string& name) const override { return at(name).file->mapped(at(name).name); }
  void release(const std::string& name) const override { at(name).file->release(at(name).name); }
  std::string place(const std::string& name) const override;

  /// Renames every tensor with f. Throws Error if two get the same name.
  void rename(const std::function<std::string(const std::string&)>& f);
  /// Forgets a tensor.
  void drop(const std::string& name) { tensors_.erase(name); }
  /// Sentences about files and tensors in the folder that are not read.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// A tensor and its name in its file.
  struct Place {
    std::shared_ptr<const SafetensorsFile> file;
    std::string name;
  };
  void read_index(const std::filesystem::path& index);
  const Place& at(const std::string& name) const;
  const SafetensorsEntry& entry(const std::string& name) const { return at(name).file->entry(at(name).name); }

  std::filesystem::path folder_;
  std::map<std::string, Place> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace headroom::models
