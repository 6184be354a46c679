#pragma once
#include <functional>
#include <string>

#include "models/weights/initializer.h"
#include "models/weights/weight.h"

namespace headroom::models {

/// What a tensor is drawn as where the source is an init scheme; other sources pay it no heed.
using Draw = std::function<Tensor(const Initializer&)>;

/// Where a model's weights come from: an init scheme, a file, tensors in memory. A model asks for each of them once, by
/// its name ("blocks.2.attention.0.q_proj.weight"), in an order that the config decides. Whether a weight is trained,
/// and in what form a matrix is kept, is the source's choice. Threads: one at a time.
class WeightSource {
 public:
  WeightSource() = default;
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  /// A matrix (out, in), dense or quantised. Throws Error naming what is missing or of another shape.
  virtual Weight matrix(const std::string& name, int64_t out, int64_t in, const Draw& draw) {
    return Weight(tensor(name, {out, in}, draw));
  }
  /// Any other weight: a bias, a norm's scale, a factor, a table of positions.
  virtual Var tensor(const std::string& name, const Shape& shape, const Draw& draw) = 0;
  /// f32 or f64: of activations, and of every weight that is not quantised.
  virtual engine::DType dtype() const = 0;
  /// The model has asked for all it needs: throws Error when something was given and not asked for.
  virtual void finish() const {}
};

/// A source together with a path below the outermost module.
class WeightScope {
 public:
  WeightScope(WeightSource& source, std::string path = "") : source_(&source), path_(std::move(path)) {}  // NOLINT
  /// The scope of a part: "blocks.2" → "blocks.2.attention".
  WeightScope at(const std::string& part) const { return {*source_, full(part)}; }
  /// A matrix (out, in); with `rank` > 0 two factors NAME_a (out, rank) and NAME_b (heads · rank, in), drawn as two
  /// Projections in a row are. `ends_branch`: see Initializer::weight.
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

}  // namespace headroom::models
