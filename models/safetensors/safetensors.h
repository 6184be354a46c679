#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/tensor.h"
#include "models/files/mapped_file.h"
#include "models/safetensors/header.h"

namespace headroom::models {

/// A safetensors file open for reading: the header is checked whole, tensors are read when they are asked for.
/// Immutable: one may serve many threads.
class SafetensorsFile {
 public:
  /// Throws Error naming the file and what is wrong with it (missing, truncated, mutated, a dtype we lack).
  explicit SafetensorsFile(const std::filesystem::path& path, const FileKind& kind = any_file);

  const std::filesystem::path& path() const { return path_; }
  /// Names in the order of the tensors' bytes.
  const std::vector<std::string>& names() const { return names_; }
  bool contains(const std::string& name) const { return index_.count(name) != 0; }
  /// dtype, shape and place of a tensor. Throws Error naming the file when there is no such tensor.
  const SafetensorsEntry& entry(const std::string& name) const;
  /// A copy on the CPU. Throws Error for an unknown name, and for a BOOL that is neither 0 nor 1.
  engine::Tensor tensor(const std::string& name) const { return mapped(name).clone(); }
  /// The tensor where it lies in the mapped file, which stays mapped as long as the tensor lives: read-only. A copy
  /// where its bytes are not aligned for its dtype.
  engine::Tensor mapped(const std::string& name) const;
  /// Gives back the memory of a tensor's bytes in the mapped file. Throws Error for an unknown name.
  void release(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> file_;
  const uint8_t* buffer_ = nullptr;
  SafetensorsHeader header_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> index_;
};

using NamedTensors = std::vector<std::pair<std::string, engine::Tensor>>;

/// A tensor that is yet to be written.
struct SafetensorsPlanned {
  std::string name;
  engine::DType dtype = engine::DType::f32;
  engine::Shape shape;
  std::function<engine::Tensor()> make;  ///< it, on any device; called once, when its turn comes
};

/// Writes tensors one at a time; the file appears whole or not at all (see AtomicFile). Wider dtypes come first, else
/// the order given is kept, so that every tensor is aligned for its dtype. Equal arguments give equal bytes. Throws
/// Error for a name given twice or not UTF-8, a tensor that differs from its plan, and what the file
/// system refuses.
void stream_safetensors(const std::filesystem::path& path, const std::vector<SafetensorsPlanned>& tensors,
                        const std::map<std::string, std::string>& metadata = {});

/// The same of tensors that exist, of any dtype, strides and device; an undefined one is an Error.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace headroom::models
