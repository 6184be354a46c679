#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/safetensors/safetensors.h"
#include "models/weights/source.h"

namespace headroom::models {

/// Draws every weight by a scheme from rng's stream "init", in the order asked; all are trained. Layers are made of it
/// with or without a TransformerConfig: `Projection({.in = 3, .out = 2, .bias = true}, weights.at("out"))`.
class DrawnWeights : public WeightSource {
 public:
  /// Throws Error unless dtype is f32 or f64.
  explicit DrawnWeights(engine::Rng& rng, engine::DType dtype = engine::DType::f32, const Init& init = {},
                        int64_t layers = 1);
  DrawnWeights(const TransformerConfig& config, engine::Rng& rng, engine::DType dtype)
      : DrawnWeights(rng, dtype, config.init, config.layers) {}
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return initializer_.dtype(); }

 private:
  Initializer initializer_;
};

/// How tensors in memory become weights.
struct WeightOptions {
  engine::DType dtype = engine::DType::f32;                 ///< f32 or f64: the dtype to convert to
  std::function<bool(const std::string&)> is_trained = {};  ///< by name; empty: all are
};
/// Freezes every weight: for running a model, not training it.
inline bool none_trained(const std::string&) { return false; }

/// Weights from memory, by name. A trained one is a copy; a frozen one of the right dtype shares the tensor's memory.
class NamedWeights : public WeightSource {
 public:
  /// Throws Error naming a tensor given twice.
  explicit NamedWeights(const NamedTensors& tensors, WeightOptions options = {});
  /// Adds a matrix, kept in its blocks.
  void add(const std::string& name, engine::QuantizedMatrix matrix);
  Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) override;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return options_.dtype; }
  void finish() const override;

 private:
  WeightOptions options_;
  std::map<std::string, Tensor> tensors_;  ///< not asked for yet
  std::map<std::string, engine::QuantizedMatrix> quantized_;
};

/// Weights from a safetensors file, read on request; frozen ones of the right dtype stay in the mapped file. Errors
/// name the file.
class SafetensorsWeights : public WeightSource {
 public:
  /// `prefix` precedes the model's names in the file; tensors without it do not belong to the model.
  explicit SafetensorsWeights(std::shared_ptr<const SafetensorsFile> file, WeightOptions options = {},
                              std::string prefix = "");
  explicit SafetensorsWeights(const std::filesystem::path& path, WeightOptions options = {}, std::string prefix = "")
      : SafetensorsWeights(std::make_shared<const SafetensorsFile>(path), std::move(options), std::move(prefix)) {}
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) override;
  engine::DType dtype() const override { return options_.dtype; }
  void finish() const override;

 private:
  std::shared_ptr<const SafetensorsFile> file_;
  WeightOptions options_;
  std::string prefix_;
  std::map<std::string, bool> is_used_;  ///< of the names with the prefix
};

}  // namespace headroom::models
