#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "autograd/var.h"
#include "engine/rng.h"

namespace headroom::tasks {

using autograd::Var;
using engine::Tensor;

/// What goes into the model, and what should come out.
struct Batch {
  Tensor input;   ///< (B, T, input_dim)
  Tensor target;  ///< (B, T, output_dim)
};

using Metrics = std::map<std::string, double>;  ///< name → value, smaller is better

/// Metrics of a whole data set, fed batch by batch; f64 sums in the order of the batches.
class Meter {
 public:
  virtual ~Meter() = default;
  virtual void add(const Tensor& output, const Batch& batch) = 0;
  virtual Metrics result() const = 0;
};

/// A source of data, the loss to train on, and the metrics to judge by.
class Task {
 public:
  virtual ~Task() = default;
  virtual int64_t input_dim() const = 0;
  virtual int64_t output_dim() const = 0;
  virtual int64_t length() const = 0;
  /// `sequences` fresh ones from a named stream of `rng`.
  virtual Batch sample(int64_t sequences, engine::Rng& rng, const std::string& stream) const = 0;
  /// output (B, T, output_dim) → scalar.
  virtual Var loss(const Var& output, const Batch& batch) const = 0;
  virtual std::unique_ptr<Meter> meter() const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace headroom::tasks
