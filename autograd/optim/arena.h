#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/parameter.h"

namespace headroom::autograd {

struct ArenaOptions {
  std::optional<engine::Device> device{};  ///< where the buffers are; none: where the leaves are
  bool has_copies = false;                 ///< the leaves become bf16 copies of f32 masters; their gradients are f32
};

/// All parameters of a model in one flat buffer, their gradients in another: one fused update, one norm. Building it
/// moves every value in and binds the leaves to views; decayed parameters come first, so that a decay group is one
/// range. On the CPU one follows the other; elsewhere each begins at a multiple of 64 elements, as kernels and
/// libraries have faster plans for aligned operands, and what lies between is zero and stays so; with copies a matrix
/// has room for a multiple of 8 rows, which products may take in (Tensor::with_padding()). A cheap handle: copies are
/// the same arena. Threads: building it, and what writes to its buffers (an optimizer, backward()), is for one thread
/// at a time; several may read.
class ParameterArena {
 public:
  /// Throws Error, with the leaf's name, on an empty list, mixed dtypes, a leaf given twice or one that another arena
  /// holds; with copies also unless every leaf is f32.
  explicit ParameterArena(std::vector<Parameter> parameters, const ArenaOptions& options = {});

  const Tensor& values() const { return values_; }  ///< (N), gaps included: what the optimizer updates
  const Tensor& copies() const { return copies_; }  ///< bf16 (N); undefined without copies
  /// (N), after backward(); parameters that got no gradient count as zero here.
  const Tensor& gradients() const;
  /// The same of parameters [first, end) alone: a view.
  Tensor gradients(size_t first, size_t end) const;
  /// Where parameter i begins in the flat buffers; for i = parameters().size(), their end.
  int64_t offset(size_t i) const { return offsets_[i]; }
  int64_t size() const { return size_; }                  ///< numbers in all parameters, without gaps
  int64_t decayed() const { return decayed_; }            ///< elements [0, decayed) decay, gaps included
  int64_t decayed_size() const { return decayed_size_; }  ///< the same without gaps
  /// A copy of a tensor (N) without the gaps, (size()), as checkpoints hold it; and such a copy back in its places.
  Tensor packed(const Tensor& flat) const;
  void unpack_inplace(const Tensor& flat, const Tensor& packed) const;
  engine::Device device() const { return values_.device(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }  ///< decayed ones first
  /// Views of values() under the leaves' names: with copies the masters, else the leaves' values.
  std::vector<std::pair<std::string, Tensor>> named_values() const;
  /// Rounds the masters to the copies again, after something other than an optimizer has written to values().
  void refresh_copies() const;
  /// Makes every gradient count as zero; costs nothing.
  void zero_grad() const;
  /// What was written into gradients() is every parameter's gradient, whether backward() gave it one or not.
  void keep_gradients() const;
  /// √Σg². Throws nothing on NaN: the caller decides.
  double gradient_norm() const;

 private:
  /// flat's part of parameter i, (n).
  Tensor part(const Tensor& flat, size_t i) const;

  std::vector<Parameter> parameters_;
  std::vector<int64_t> offsets_;  ///< of each parameter's first element; the end
  Tensor values_, gradients_, copies_;
  int64_t size_ = 0, decayed_ = 0, decayed_size_ = 0;
  std::shared_ptr<const char> identity_;  ///< what the leaves know this arena by
};

}  // namespace headroom::autograd
