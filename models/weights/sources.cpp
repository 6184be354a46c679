#include "models/weights/sources.h"

#include "engine/context.h"
#include "engine/error.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

void require_real(engine::DType dtype) {
  require(dtype == engine::DType::f32 || dtype == engine::DType::f64,
          "transformer: parameters must be f32 or f64, not {}", engine::name_of(dtype));
}

/// A leaf of the options' dtype on the context's device; the memory is the tensor's own only where nobody will write
/// to it.
Var leaf_of(const std::string& name, const Tensor& given, const Shape& shape, const WeightOptions& options) {
  require(given.shape() == shape, "weights: '{}' is {}, expected {} {}", name, given.str(),
          engine::name_of(options.dtype), shape.str());
  require(engine::is_floating(given.dtype()), "weights: '{}' is {}, expected real numbers", name, given.str());
  const bool is_trained = !options.is_trained || options.is_trained(name);
  const Tensor value = given.to(options.dtype).contiguous().to(engine::context().device);
  return Var(is_trained && value.shares_storage(given) ? value.clone() : value, is_trained);
}

}  // namespace

DrawnWeights::DrawnWeights(engine::Rng& rng, engine::DType dtype, const Init& init, int64_t layers)
    : initializer_(init, layers, rng, dtype) {
  require_real(dtype);
}

Var DrawnWeights::tensor(const std::string&, const Shape&, const Draw& draw) {
  return Var(draw(initializer_).to(engine::context().device), true);
}

NamedWeights::NamedWeights(const NamedTensors& tensors, WeightOptions options) : options_(std::move(options)) {
  require_real(options_.dtype);
  for (const auto& [name, tensor] : tensors)
    require(tensors_.emplace(name, tensor).second, "weights: '{}' is given twice", name);
}

void NamedWeights::add(const std::string& name, engine::QuantizedMatrix matrix) {
  require(!tensors_.contains(name) && quantized_.emplace(name, std::move(matrix)).second,
          "weights: '{}' is given twice", name);
}

Weight NamedWeights::matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) {
  const auto found = quantized_.find(name);
  if (found == quantized_.end()) return WeightSource::matrix(name, out, in, draw);
  require(found->second.shape() == Shape{out, in}, "weights: '{}' is {}, expected ({}, {})", name, found->second.str(),
          out, in);
  Weight weight(std::move(found->second));
  quantized_.erase(found);
  return weight;
}

Var NamedWeights::tensor(const std::string& name, const Shape& shape, const Draw&) {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "weights: '{}' is not given", name);
  Var leaf = leaf_of(name, found->second, shape, options_);
  tensors_.erase(found);
  return leaf;
}

void NamedWeights::finish() const {
  require(tensors_.empty(), "weights: '{}' is no parameter of this model", tensors_.begin()->first);
  require(quantized_.empty(), "weights: '{}' is no parameter of this model", quantized_.begin()->first);
}

SafetensorsWeights::SafetensorsWeights(std::shared_ptr<const SafetensorsFile> file, WeightOptions options,
                                       std::string prefix)
    : file_(std::move(file)), options_(std::move(options)), prefix_(std::move(prefix)) {
  require_real(options_.dtype);
  for (const std::string& name : file_->names())
    if (name.starts_with(prefix_)) is_used_.emplace(name, false);
}

Var SafetensorsWeights::tensor(const std::string& name, const Shape& shape, const Draw&) {
  const auto found = is_used_.find(prefix_ + name);
  require(found != is_used_.end(), "{}: weights: '{}' is not given", file_->path().string(), prefix_ + name);
  found->second = true;
  return naming(file_->path().string(),
                [&] { return leaf_of(prefix_ + name, file_->mapped(prefix_ + name), shape, options_); });
}

void SafetensorsWeights::finish() const {
  for (const auto& [name, used] : is_used_)
    require(used, "{}: weights: '{}' is no parameter of this model", file_->path().string(), name);
}

}  // namespace headroom::models
