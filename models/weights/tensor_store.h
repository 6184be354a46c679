#pragma once
#include <string>
#include <variant>
#include <vector>

#include "engine/quantized/quantized_matrix.h"
#include "engine/tensor.h"

namespace headroom::models {

/// A tensor as a file holds it: numbers of a dtype, or a matrix in blocks. Both may lie in the mapped file.
using StoredTensor = std::variant<engine::Tensor, engine::QuantizedMatrix>;

inline engine::Shape shape_of(const StoredTensor& stored) {
  return std::visit([](const auto& tensor) { return engine::Shape(tensor.shape()); }, stored);
}

/// The tensors of a trained model, by the names that its files use: one GGUF file, one safetensors file, a folder of
/// shards. May serve many threads.
class TensorStore {
 public:
  TensorStore() = default;
  virtual ~TensorStore() = default;
  TensorStore(const TensorStore&) = delete;
  TensorStore& operator=(const TensorStore&) = delete;

  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(const std::string& name) const = 0;
  /// Its shape, row-major. Throws Error naming file and tensor when there is none.
  virtual engine::Shape shape(const std::string& name) const = 0;
  /// "F32", "Q4_1", "BF16": its type, by the file format's own name.
  virtual std::string type(const std::string& name) const = 0;
  /// Where it lies in the file. A tensor in blocks with more than two axes, or with one, is a matrix of all its rows.
  virtual StoredTensor read(const std::string& name) const = 0;
  /// Gives back the memory of a tensor's bytes in the mapped file: they were copied, and are not looked at again soon.
  virtual void release(const std::string& name) const = 0;
  /// The file that holds it, for messages.
  virtual std::string place(const std::string& name) const = 0;
};

}  // namespace headroom::models
