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

/// The files of a model in parts, given any of them: NAME-00001-of-00003.gguf, …; the path alone for any other name.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path);

/// A GGUF file open for reading, or all parts of one in parts (split.count), given any of them: the headers are checked
/// whole, tensors are read when they are asked for. The first part has the metadata.
class GgufFile : public TensorStore {
 public:
  /// Throws Error naming the file and what is wrong with it, and a part that is missing or another file's.
  explicit GgufFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const GgufMetadata& metadata() const { return parts_.front().header.metadata; }
  /// Bytes behind the last part's tensors.
  uint64_t trailing_bytes() const { return parts_.back().header.trailing; }
  /// Throws Error naming the file when there is no such tensor.
  const GgufEntry& entry(const std::string& name) const { return found(name).second; }

  /// In the order of the parts and their bytes.
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
