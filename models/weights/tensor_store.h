#pragma once
#include <string>
#include <variant>
#include <vector>

#include "engine/quantized/quantized_matrix.h"
#include "engine/tensor.h"

namespace headroom::models {

/// A tensor as stored in a file: numbers of a dtype, or a matrix in blocks. Both may lie in the mapped file.
using StoredTensor = std::variant<engine::Tensor, engine::QuantizedMatrix>;

inline engine::Shape shape_of(const StoredTensor& stored) {
  return std::visit([](const auto& tensor) { return engine::Shape(tensor.shape()); }, stored);
}

/// A trained model's tensors, by the names in its files: a GGUF file, a safetensors file, or a folder of shards. May
/// serve many threads.
class TensorStore {
 public:
  TensorStore() = default;
  virtual ~TensorStore() = default;
  TensorStore(const TensorStore&) = delete;
  TensorStore& operator=(const TensorStore&) = delete;

  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(const std::string& name) const = 0;
  /// Its shape, row-major. Throws Error naming file and tensor if there is none.
  virtual engine::Shape shape(const std::string& name) const = 0;
  /// Its type as the file format names it: "F32", "Q4_1", "BF16".
  virtual std::string type(const std::string& name) const = 0;
  /// The tensor in the file. One in blocks with one axis, or more than two, becomes a matrix of all its rows.
  virtual StoredTensor read(const std::string& name) const = 0;
  /// Releases the memory of a tensor's mapped bytes, for tensors that were copied and will not be read again soon.
  virtual void release(const std::string& name) const = 0;
  /// The file that holds it, for messages.
  virtual std::string place(const std::string& name) const = 0;
};

}  // namespace headroom::models
