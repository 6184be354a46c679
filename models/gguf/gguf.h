#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/files/mapped_file.h"
#include "models/gguf/metadata.h"
#include "models/gguf/types.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// A tensor of a GGUF file: bytes [begin, end) of the file, row-major.
struct GgufEntry {
  std::string name;
  GgufForm form;
  engine::Shape shape;  ///< outermost axis first; the file has them the other way round
  uint64_t begin = 0, end = 0;
};

struct GgufHeader {
  explicit GgufHeader(std::string source) : metadata(std::move(source)) {}
  GgufMetadata metadata;
  std::vector<GgufEntry> entries;  ///< in the order of their bytes
  uint64_t trailing = 0;           ///< bytes behind the last tensor's, which belong to none
};

/// Checks and reads the header of a GGUF file of version 2 or 3. Every count and length is checked against the bytes
/// that are left before anything is allocated; tensors are aligned, do not overlap, leave no bytes unused before
/// the last one's end but padding, and end within the file. `source` stands for the file. Throws Error naming it, and
/// the key or tensor at fault. Source: the GGUF format, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
GgufHeader parse_gguf(std::string_view file, const std::string& source);

/// A GGUF file open for reading: its header is checked whole, tensors are read when they are asked for.
class GgufFile : public TensorStore {
 public:
  /// Throws Error naming the file and what is wrong with it.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const GgufMetadata& metadata() const { return header_.metadata; }
  const std::vector<GgufEntry>& entries() const { return header_.entries; }
  uint64_t trailing_bytes() const { return header_.trailing; }
  /// Throws Error naming the file when there is no such tensor.
  const GgufEntry& entry(const std::string& name) const;

  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return index_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return entry(name).shape; }
  std::string type(const std::string& name) const override { return gguf_name(entry(name).form); }
  StoredTensor read(const std::string& name) const override;
  void release(const std::string& name) const override;
  std::string place(const std::string&) const override { return path_.string(); }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> file_;
  GgufHeader header_;
  std::map<std::string, size_t> index_;
};

using GgufPairs = std::vector<std::pair<std::string, GgufValue>>;
using StoredTensors = std::vector<std::pair<std::string, StoredTensor>>;

/// A tensor of a GGUF file that is yet to be written.
struct GgufPlanned {
  std::string name;
  GgufForm form;
  engine::Shape shape;
  std::function<StoredTensor()> make;  ///< its numbers, in that form and shape; called once, when their turn comes
};

/// Writes a GGUF file of version 3: keys and tensors in the order given, one tensor in memory at a time; the file
/// appears whole or not at all (see AtomicFile). Equal arguments give equal bytes. Throws Error for a key or name given
/// twice, a name that ggml does not take (64 bytes or more), a value that does not fit its type, a tensor that differs
/// from its plan, and what the file system refuses.
void stream_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const std::vector<GgufPlanned>& tensors);

/// The same of tensors that exist: f32, f16 and bf16 ones as such, and matrices in their blocks.
void write_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const StoredTensors& tensors);

}  // namespace headroom::models
