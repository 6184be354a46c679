#pragma once
#include <functional>
#include <string>

#include "engine/rng.h"
#include "models/config.h"
#include "models/weights/weight.h"

namespace headroom::models {

/// Draws initial parameters by a scheme from rng's stream "init", in the order of the calls.
class Initializer {
 public:
  /// `layers`: the residual branches' number, for InitScheme::gpt2.
  Initializer(const Init& init, int64_t layers, engine::Rng& rng, engine::DType dtype)
      : init_(init), layers_(layers), rng_(rng), dtype_(dtype) {}

  /// A Projection's matrix (out, in). `ends_branch`: its product is added to the residual stream.
  Tensor weight(int64_t out, int64_t in, bool ends_branch = false) const;
  /// A Projection's bias (out).
  Tensor bias(int64_t out, int64_t in) const;
  /// N(0, std²).
  Tensor normal(const Shape& shape, double std) const;
  Tensor constant(const Shape& shape, double value) const { return Tensor::full(shape, value, dtype_); }
  const Init& scheme() const { return init_; }
  engine::DType dtype() const { return dtype_; }

 private:
  Tensor uniform(const Shape& shape, double bound) const;

  Init init_;
  int64_t layers_;
  engine::Rng& rng_;
  engine::DType dtype_;
};

/// Draws a tensor if the source is an init scheme; other sources ignore it.
using Draw = std::function<Tensor(const Initializer&)>;

class WeightScope;

/// The source of a model's weights: an init scheme, a file, or tensors in memory. A model asks for each weight once, by
/// name ("blocks.2.attention.0.q_proj.weight"), in the config's order. The source decides if a weight is trained and
/// how a matrix is kept. Threads: one at a time.
class WeightSource {
 public:
  WeightSource() = default;
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  /// A matrix (out, in), dense or quantised. Throws Error naming one that is missing or has another shape.
  virtual Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) {
    return Weight(tensor(name, {out, in}, draw));
  }
  /// Any other weight: a bias, a norm's scale, a factor, a table of positions.
  virtual Var tensor(const std::string& name, const Shape& shape, const Draw& draw) = 0;
  /// f32 or f64: the dtype of activations and of all weights that are not quantised.
  virtual engine::DType dtype() const = 0;
  /// The scope of a part of the outermost module.
  WeightScope at(const std::string& part);
  /// Call it after the model has its weights: throws Error if something given was never asked for.
  virtual void finish() const {}
};

/// A source and a path below the outermost module.
class WeightScope {
 public:
  WeightScope(WeightSource& source, std::string path = "") : source_(&source), path_(std::move(path)) {}  // NOLINT
  /// The scope of a part: "blocks.2" → "blocks.2.attention".
  WeightScope at(const std::string& part) const { return {*source_, full(part)}; }
  /// A matrix (out, in); with `rank` > 0 two factors NAME_a (out, rank) and NAME_b (heads · rank, in), drawn like two
  /// Projections in a row. `ends_branch`: see Initializer::weight.
  Weight matrix(const std::string& name, int64_t out, int64_t in, int64_t rank = 0, bool ends_branch = false,
                int64_t heads = 1) const;
  Weight table(const std::string& name, int64_t rows, int64_t width, double std) const;
  Var tensor(const std::string& name, const Shape& shape, const Draw& draw) const {
    return source_->tensor(full(name), shape, draw);
  }
  Var constant(const std::string& name, const Shape& shape, double value) const;
  engine::DType dtype() const { return source_->dtype(); }

 private:
  std::string full(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  WeightSource* source_;
  std::string path_;
};

inline WeightScope WeightSource::at(const std::string& part) { return {*this, part}; }

}  // namespace headroom::models
