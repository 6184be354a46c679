#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor.h"
#include "models/files/mapped_file.h"

namespace headroom::models {

/// One tensor of a safetensors file: bytes [begin, end) of the buffer, row-major.
struct SafetensorsEntry {
  std::string name;
  engine::DType dtype = engine::DType::f32;
  engine::Shape shape;
  uint64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in file order
  std::map<std::string, std::string> metadata;
};

/// The longest header accepted: the reference implementation's limit.
inline constexpr uint64_t max_safetensors_header = 100'000'000;

/// "F32", "BF16", …: the name of a dtype in safetensors files.
const char* safetensors_name(engine::DType dtype);

/// Reads and checks the JSON header of a file with a buffer of `buffer_bytes` bytes. Each range must have its tensor's
/// size, and together they must tile the buffer. Throws Error, without the file's name, naming the faulty tensor.
/// Source: the safetensors format, https://github.com/huggingface/safetensors.
SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t buffer_bytes);

/// A safetensors file open for reading: checks the whole header, reads tensors on request. Immutable: one may serve
/// many threads.
class SafetensorsFile {
 public:
  /// Throws Error naming the file and its fault (missing, truncated, mutated, an unsupported dtype).
  explicit SafetensorsFile(const std::filesystem::path& path, const FileKind& kind = any_file);

  const std::filesystem::path& path() const { return path_; }
  /// Names in the order of the tensors' bytes.
  const std::vector<std::string>& names() const { return names_; }
  bool contains(const std::string& name) const { return index_.count(name) != 0; }
  /// A tensor's dtype, shape and place. Throws Error naming the file if there is no such tensor.
  const SafetensorsEntry& entry(const std::string& name) const;
  /// A copy on the CPU. Throws Error for an unknown name, and for a BOOL that is neither 0 nor 1.
  engine::Tensor tensor(const std::string& name) const { return mapped(name).clone(); }
  /// The tensor in the mapped file, read-only; it keeps the file mapped. A copy if its bytes are not aligned for its
  /// dtype.
  engine::Tensor mapped(const std::string& name) const;
  /// Releases the memory of a tensor's bytes in the mapped file. Throws Error for an unknown name.
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

/// A tensor to be written.
struct SafetensorsPlanned {
  std::string name;
  engine::DType dtype = engine::DType::f32;
  engine::Shape shape;
  std::function<engine::Tensor()> make;  ///< makes it, on any device; called once, when it is written
};

/// Writes tensors one at a time; the file appears whole or not at all (see AtomicFile). Wider dtypes come first, so
/// that every tensor is aligned; otherwise the given order is kept. Equal arguments give equal bytes. Throws Error for
/// a name given twice or not UTF-8, a tensor that differs from its plan, and file-system errors.
void stream_safetensors(const std::filesystem::path& path, const std::vector<SafetensorsPlanned>& tensors,
                        const std::map<std::string, std::string>& metadata = {});

/// The same for tensors in memory, of any dtype, strides and device; an undefined one is an Error.
void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace headroom::models
