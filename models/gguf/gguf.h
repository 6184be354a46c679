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
  engine::Shape shape;  ///< outermost axis first; the file stores them reversed
  uint64_t begin = 0, end = 0;
};

struct GgufHeader {
  explicit GgufHeader(std::string source) : metadata(std::move(source)) {}
  GgufMetadata metadata;
  std::vector<GgufEntry> entries;  ///< in file order
  uint64_t trailing = 0;           ///< bytes after the last tensor
};

/// Reads and checks the header of a GGUF file, version 2 or 3. Checks every count and length against the remaining
/// bytes before allocating. Tensors must be aligned, not overlap, leave only padding between them, and end within the
/// file. `source` stands for the file. Throws Error naming it and the faulty key or tensor. Source: the GGUF format,
/// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
GgufHeader parse_gguf(std::string_view file, const std::string& source);

/// All parts of a split model, given any of them: NAME-00001-of-00003.gguf, …; any other path by itself.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path);

/// A GGUF file open for reading, or all its parts (split.count), given any of them. Checks all headers at once, reads
/// tensors on request. The first part has the metadata.
class GgufFile : public TensorStore {
 public:
  /// Throws Error naming the file and its fault, or a part that is missing or belongs to another file.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const GgufMetadata& metadata() const { return parts_.front().header.metadata; }
  /// Bytes after the last part's tensors.
  uint64_t trailing_bytes() const { return parts_.back().header.trailing; }
  /// Throws Error naming the file if there is no such tensor.
  const GgufEntry& entry(const std::string& name) const { return found(name).second; }

  /// Names by part, in file order.
  std::vector<std::string> names() const override;
  bool contains(const std::string& name) const override { return index_.contains(name); }
  engine::Shape shape(const std::string& name) const override { return entry(name).shape; }
  std::string type(const std::string& name) const override { return gguf_name(entry(name).form); }
  StoredTensor read(const std::string& name) const override;
  void release(const std::string& name) const override;
  std::string place(const std::string& name) const override { return found(name).first.path.string(); }

 private:
  struct Part {
    explicit Part(const std::filesystem::path& path);
    std::filesystem::path path;
    std::shared_ptr<const MappedFile> file;
    GgufHeader header;
  };
  std::pair<const Part&, const GgufEntry&> found(const std::string& name) const;

  std::filesystem::path path_;
  std::vector<Part> parts_;
  std::map<std::string, std::pair<size_t, size_t>> index_;  ///< part and entry
};

using GgufPairs = std::vector<std::pair<std::string, GgufValue>>;
using StoredTensors = std::vector<std::pair<std::string, StoredTensor>>;

/// A tensor of a GGUF file to be written.
struct GgufPlanned {
  std::string name;
  GgufForm form;
  engine::Shape shape;
  std::function<StoredTensor()> make;  ///< makes its numbers, in that form and shape; called once
};

/// Writes a GGUF file of version 3: keys and tensors in the given order, with one tensor in memory at a time. The file
/// appears whole or not at all (see AtomicFile). Equal arguments give equal bytes. Throws Error for a key or name given
/// twice, a name too long for ggml (64 bytes or more), a value outside its type, a tensor that differs from its plan,
/// and file-system errors.
void stream_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const std::vector<GgufPlanned>& tensors);

/// The same for tensors in memory: f32, f16 and bf16 as they are, and matrices in blocks.
void write_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const StoredTensors& tensors);

}  // namespace headroom::models
