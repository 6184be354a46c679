#include "autograd/optim/arena.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/error.h"
#include "engine/optim/update.h"

namespace headroom::autograd {

ParameterArena::ParameterArena(std::vector<ArenaEntry> entries) : entries_(std::move(entries)) {
  require(!entries_.empty(), "parameter arena: no parameters");
  std::stable_partition(entries_.begin(), entries_.end(), [](const ArenaEntry& e) { return e.decays; });
  const engine::DType dtype = entries_[0].var.value().dtype();
  std::unordered_set<const Node*> seen;
  int64_t total = 0;
  for (const ArenaEntry& entry : entries_) {
    const Tensor& value = entry.var.value();
    require(value.dtype() == dtype, "parameter arena: {} is {}, {} is {}", entries_[0].name,
            entries_[0].var.value().str(), entry.name, value.str());
    require(entry.var.requires_grad(), "parameter arena: {} {} does not require a gradient", entry.name, value.str());
    require(seen.insert(entry.var.node().get()).second, "parameter arena: {} was given twice", entry.name);
    total += value.numel();
    if (entry.decays) decayed_ += value.numel();
  }
  values_ = Tensor::empty({total}, dtype);     // (N)
  gradients_ = Tensor::zeros({total}, dtype);  // (N)
  int64_t offset = 0;
  for (const ArenaEntry& entry : entries_) {
    const Shape shape = entry.var.shape();
    const int64_t n = shape.numel();
    const Tensor value = values_.slice(0, offset, offset + n).reshape(shape);
    engine::copy_inplace(value, entry.var.value());
    entry.var.bind(value, gradients_.slice(0, offset, offset + n).reshape(shape));
    offset += n;
  }
}

const Tensor& ParameterArena::gradients() const {
  int64_t offset = 0;
  for (const ArenaEntry& entry : entries_) {
    const int64_t n = entry.var.value().numel();
    // A leaf whose gradient is fresh got none: its part of the buffer is from an earlier step.
    if (!entry.var.grad().defined()) {
      const Tensor part = gradients_.slice(0, offset, offset + n);
      engine::copy_inplace(part, Tensor::zeros({n}, part.dtype()));
    }
    offset += n;
  }
  return gradients_;
}

void ParameterArena::zero_grad() {
  for (const ArenaEntry& entry : entries_) entry.var.zero_grad();
}

double ParameterArena::gradient_norm() const { return std::sqrt(engine::square_sum(gradients())); }

double ParameterArena::clip_gradient_norm(double max_norm) {
  require(max_norm > 0, "clip_gradient_norm: max_norm {} is not positive", max_norm);
  const double norm = gradient_norm();
  if (std::isfinite(norm) && norm > max_norm) engine::scale_inplace(gradients_, max_norm / norm);
  return norm;
}

}  // namespace headroom::autograd
