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

/// The safetensors files of a folder: the shards that model.safetensors.index.json names, or else model.safetensors.
class SafetensorsFolder : public TensorStore {
 public:
  /// Throws Error naming the file and what is wrong: a shard that is missing or lies outside the folder, a tensor that
  /// the index puts where it is not, one that no entry of the index names.
  explicit SafetensorsFolder(const std::filesystem::path& folder);

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return tensors_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return entry(name).shape; }
  std::string type(const std::string& name) const override { return safetensors_name(entry(name).dtype); }
  StoredTensor read(const std::string& name) const override { return at(name).file->mapped(at(name).name); }
  void release(const std::string& name) const override { at(name).file->release(at(name).name); }
  std::string place(const std::string& name) const override;

  /// Calls every tensor by the name that f gives it from now on. Throws Error where two would have the same.
  void rename(const std::function<std::string(const std::string&)>& f);
  /// Forgets a tensor.
  void drop(const std::string& name) { tensors_.erase(name); }
  /// Files and tensors that lie here and are not read, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// A tensor, by its name in its file.
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
