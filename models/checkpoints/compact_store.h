#pragma once
#include <map>
#include <string>

#include "models/safetensors/safetensors.h"
#include "models/weights/tensor_store.h"

namespace headroom::models {

/// The metadata entry of a matrix in blocks in a compact safetensors file: its format, rows and columns, "q4_1 1536
/// 576". Its bytes are a U8 tensor of that name.
std::string block_entry(const engine::QuantizedMatrix& matrix);

/// The tensors of a compact model: plain numbers and matrices in blocks.
class CompactStore : public TensorStore {
 public:
  /// Throws Error naming the file and the tensor whose metadata is wrong or does not match its bytes.
  explicit CompactStore(const std::filesystem::path& path);

  std::vector<std::string> names() const override { return file_.names(); }
  bool contains(const std::string& name) const override { return file_.contains(name); }
  engine::Shape shape(const std::string& name) const override;
  std::string type(const std::string& name) const override;
  StoredTensor read(const std::string& name) const override;
  void release(const std::string& name) const override { file_.release(name); }
  std::string place(const std::string&) const override { return file_.path().string(); }

 private:
  struct Blocks {
    engine::BlockFormat format;
    int64_t rows, cols;
  };
  SafetensorsFile file_;
  std::map<std::string, Blocks> blocks_;
};

}  // namespace headroom::models
