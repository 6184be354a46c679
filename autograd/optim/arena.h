#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/parameter.h"

namespace headroom::autograd {

struct ArenaOptions {
  std::optional<engine::Device> device{};  ///< of the buffers; none: the leaves' device
  bool has_copies = false;                 ///< the leaves become bf16 copies of f32 masters; their gradients are f32
};

/// All parameters of a model in one flat buffer and their gradients in another: one fused update, one norm. Building it
/// moves every value in and binds the leaves to views. Decayed parameters come first, so that they are one range. On
/// the CPU parameters are contiguous. Elsewhere each starts at a multiple of 64 elements, because kernels and libraries
/// have faster plans for aligned operands; see Placement. Gaps are zero and stay so; with copies a matrix, or those
/// joined, have room for a multiple of 8 rows, which products may use (Tensor::with_padding()). A cheap handle: copies
/// are the same arena. Threads: only one may build it or write to its buffers (an optimizer, backward()) at a time;
/// several may read.
class ParameterArena {
 public:
  /// Throws Error, with the leaf's name, for an empty list, mixed dtypes, a leaf or a name given twice, or a leaf of
  /// another arena; with copies also unless every leaf is f32.
  explicit ParameterArena(std::vector<Parameter> parameters, const ArenaOptions& options = {});

  const Tensor& values() const { return values_; }  ///< (N), with gaps: the optimizer updates it
  const Tensor& copies() const { return copies_; }  ///< bf16 (N); undefined without copies
  /// (N), after backward(); parameters without a gradient count as zero.
  const Tensor& gradients() const;
  /// The same for parameters [first, end): a view.
  Tensor gradients(size_t first, size_t end) const;
  /// The start of parameter i in the flat buffers; for i = parameters().size(), their end.
  int64_t offset(size_t i) const { return offsets_[i]; }
  int64_t size() const { return size_; }                  ///< numbers in all parameters, without gaps
  int64_t decayed() const { return decayed_; }            ///< elements [0, decayed) decay, gaps included
  int64_t decayed_size() const { return decayed_size_; }  ///< the same without gaps
  /// Copies a tensor (N) without gaps to (size()), as in checkpoints; and the inverse.
  Tensor packed(const Tensor& flat) const;
  void unpack_inplace(const Tensor& flat, const Tensor& packed) const;
  engine::Device device() const { return values_.device(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }  ///< decayed ones first
  /// Views of values() under the leaves' names: the masters if there are copies, else the leaves' values.
  std::vector<std::pair<std::string, Tensor>> named_values() const;
  /// Rounds the masters to the copies again, after anything but an optimizer has written to values().
  void refresh_copies() const;
  /// Sets every gradient to count as zero; costs nothing.
  void zero_grad() const;
  /// Makes the contents of gradients() every parameter's gradient, even without backward().
  void keep_gradients() const;
  /// √Σg². Does not throw on NaN: the caller decides.
  double gradient_norm() const;

 private:
  /// Parameter i's part of flat, a view of its shape.
  Tensor part(const Tensor& flat, size_t i) const;

  std::vector<Parameter> parameters_;
  std::vector<int64_t> offsets_;  ///< of each parameter's first element; the end
  std::vector<int64_t> rows_;     ///< from one row of each parameter to the next; 0: there are no gaps
  Tensor values_, gradients_, copies_;
  int64_t size_ = 0, decayed_ = 0, decayed_size_ = 0;
  std::shared_ptr<const char> identity_;  ///< identifies this arena to its leaves
};

/// √Σg² over all arenas. If it is above `max_norm`, scales their gradients so that it is `max_norm`: one clip for
/// groups of parameters with optimizers, and so rates, of their own. Throws Error, changing nothing, if it is not
/// finite.
double clip_gradients(const std::vector<ParameterArena>& arenas, double max_norm);

}  // namespace headroom::autograd
