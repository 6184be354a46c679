#pragma once
#include <string>
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// A leaf for an optimizer: its decay is `decays ? weight_decay : 0`.
struct ArenaEntry {
  std::string name;
  Var var;
  bool decays = true;
};

/// All parameters of a model in one flat buffer, their gradients in another: one fused update, one norm. Building it
/// moves every value in and binds the leaves to views; decayed parameters come first, so that a decay group is one
/// range.
class ParameterArena {
 public:
  /// Throws Error on an empty list, mixed dtypes, or a leaf given twice.
  explicit ParameterArena(std::vector<ArenaEntry> entries);

  const Tensor& values() const { return values_; }  ///< (N)
  /// (N), after backward(); parameters that got no gradient count as zero here.
  const Tensor& gradients() const;
  int64_t size() const { return values_.numel(); }
  int64_t decayed() const { return decayed_; }  ///< elements [0, decayed) decay
  const std::vector<ArenaEntry>& entries() const { return entries_; }
  /// Makes every gradient count as zero; costs nothing.
  void zero_grad();
  /// √Σg². Throws nothing on NaN: the caller decides.
  double gradient_norm() const;
  /// Scales all gradients by max_norm / norm when norm > max_norm (and is finite). Returns the norm before.
  double clip_gradient_norm(double max_norm);

 private:
  std::vector<ArenaEntry> entries_;
  Tensor values_, gradients_;
  int64_t decayed_ = 0;
};

}  // namespace headroom::autograd
