#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/saved.h"
#include "engine/context.h"
#include "engine/side_stream.h"
#include "engine/tensor.h"

namespace headroom::engine {
struct Dropout;
}

namespace headroom::autograd {

using engine::Shape;
using engine::Tensor;

struct Node;

class Var;

/// The operands of an op that need a gradient: needs[i] for the i-th; a vjp computes nothing for the others. Also
/// offers ways to save a pass over memory.
class Needs {
 public:
  /// For the operands of one op, which must outlive it.
  explicit Needs(const std::vector<Var>& operands);
  bool operator[](size_t i) const { return wanted_[i]; }
  /// Operand i's gradient from other ops so far; undefined if there is none, or it is a leaf. A vjp that takes it must
  /// return the sum of it and its own.
  Tensor take(size_t i) const;
  /// A place for operand i's gradient, for a vjp that can write it there instead of to a new tensor, and then returns
  /// it: a leaf's place in an arena (in the leaf's grad_dtype()), or for a part that split() made, its place in the
  /// whole's gradient; only if it has no gradient yet and is no other operand. Undefined for all others.
  Tensor place(size_t i) const;
  /// The same place for a leaf alone, to which its gradient may be written as late as engine::JoinedSums::finish(),
  /// which backward() calls at its end, and before anything else touches the gradient.
  Tensor late_place(size_t i) const;
  /// The same place for a leaf that already has a gradient, for a vjp that can add to it, and then returns it.
  Tensor present(size_t i) const;
  /// The places of operands [first, first + count) as one (see neighbours()); undefined unless all have one.
  Tensor place(size_t first, size_t count) const;
  /// True if some operand from the `first` on needs a gradient, and all of these Var::may_be_aside().
  bool may_be_aside(size_t first = 0) const;

 private:
  /// Operand i's node; null if it needs no gradient, or is another operand, too.
  Node* sole(size_t i) const;

  const std::vector<Var>& operands_;
  std::vector<bool> wanted_;
};

namespace detail {
/// A vjp with its kept values.
using BoundVjp = std::function<std::vector<Tensor>(const Tensor& dy, const Needs& needs)>;
/// `place`: returns Needs::place() of the result.
Var record(const char* op, Tensor value, std::vector<Var> parents, BoundVjp vjp, std::function<Tensor()> place = {});
}  // namespace detail

/// A value in the computation graph: a cheap handle, copied like a pointer.
///
/// Threads: each thread builds and runs its own graphs. Threads may share leaves that nobody writes to, such as a
/// model's weights. backward() writes to the gradients of the leaves it reaches, so only one thread at a time may run
/// it towards a leaf.
class Var {
 public:
  Var() = default;  ///< undefined: a missing optional operand
  /// A leaf: a constant, or with `requires_grad` a variable to differentiate by. An undefined tensor gives an undefined
  /// Var. Where an op takes a Var it takes a tensor as a constant: `x * mask`, mse(y, target).
  Var(Tensor value, bool requires_grad = false);  // NOLINT: a tensor is a constant

  bool defined() const { return node_ != nullptr; }
  const Tensor& value() const;  ///< undefined for an undefined Var: an op that needs one says which
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int axis) const { return value().dim(axis); }
  bool requires_grad() const;
  /// Freezes a leaf, or makes it a variable to differentiate by, for graphs built from now on. Throws Error for another
  /// value, for a dtype without gradients, and while an arena holds it, whose optimizer would go on with it.
  void set_requires_grad(bool required) const;
  /// Element i of the first axis (autograd::select): x[2][-1].
  Var operator[](int64_t i) const;
  /// dL/d(this), summed over every backward() since the last zero_grad(); undefined before the first. Kept for leaves
  /// only, in memory shared with no other gradient or caller's tensor.
  Tensor grad() const;
  void zero_grad() const;
  /// Makes the contents of a bound leaf's gradient buffer, written by others, its gradient until zero_grad().
  void keep_grad() const;
  /// The same value, detached from the graph; undefined if this is.
  Var detach() const { return Var(value()); }

  /// Runs the tape backwards from this value and adds to the grad of every leaf. Frees saved values on the way: a
  /// second backward() through the same graph is an Error. Without `dy`, this must have one element, and dy = 1. Calls
  /// `finished` once for each leaf that is an operand of an op on the way, when no later op uses it: its gradient is
  /// then final.
  using Finished = std::function<void(const Var& leaf)>;
  void backward(const Finished& finished = {}) const;
  void backward(const Tensor& dy, const Finished& finished = {}) const;

  /// The dtype of its gradient: its value's, unless bind() declared another.
  engine::DType grad_dtype() const;

  /// Makes a leaf's value and gradient views of an arena's buffers, of any floating dtypes: f32 gradients for bf16
  /// values, for example. The gradient buffer counts as zero until the next backward(). The buffers belong to `owner`:
  /// while it lives, is_bound() is true. Throws Error if the leaf is bound to another.
  void bind(const Tensor& value, const Tensor& grad, std::weak_ptr<const void> owner = {}) const;
  /// The same in flat buffers (N), in which the leaf's elements start at `offset`; `row` > 0: from one row of a matrix
  /// to the next.
  void bind(const Tensor& values, const Tensor& gradients, int64_t offset, std::weak_ptr<const void> owner,
            int64_t row = 0) const;
  bool is_bound() const;

  /// True if this thread has a side stream and this is a leaf that needs a gradient, which nothing then reads before
  /// backward() has ended: it may be computed in an engine::SideScope.
  bool may_be_aside() const;

  /// Declares that this sum's second operand gets dropout() of the sum's gradient: the kernel that makes the gradient
  /// may apply it.
  void drops(const engine::Dropout& dropout) const;

  const std::shared_ptr<Node>& node() const { return node_; }

 private:
  friend Var detail::record(const char*, Tensor, std::vector<Var>, detail::BoundVjp, std::function<Tensor()>);
  std::shared_ptr<Node> node_;
};

inline std::ostream& operator<<(std::ostream& out, const Var& var) { return out << var.value(); }

/// A leaf's part of an arena's flat buffer (N), a view of the shape: its elements from `offset` on; `row` > 0: from one
/// row of a matrix to the next.
Tensor part_of(const Tensor& flat, int64_t offset, const Shape& shape, int64_t row);

/// The values of consecutive leaves (n_i, …) in an arena as one: (Σ n_i, …), a view. Undefined if there is a gap,
/// within rows or between leaves.
Tensor neighbours(std::span<const Var> leaves);

/// A tensor for record() to keep, under the name that errors give it.
inline Saved saved(const char* name, const Tensor& tensor) { return {name, tensor}; }
inline Saved saved(const char* name, const Var& var) { return {name, var.value()}; }

/// The only way to make a Var that depends on others: an op's name, its value, its operands (undefined ones allowed),
/// its vjp, and the vjp's arguments besides dy. Names are string literals, or live as long as the graph:
///
///     record("mul", y, {a, b}, [](const Tensor& dy, const Needs& needs, const Tensor& a, const Tensor& b) {…},
///            saved("a", a), saved("b", b));
///
/// The vector-Jacobian product maps dL/dy to dL/d(operand i), undefined if !needs[i]. It is a pure function: it
/// captures nothing, and each tensor it keeps is saved(), so that a write to it before backward() is an Error and not a
/// wrong gradient. Numbers, shapes, lists of numbers and structs of these are kept as they are. A broadcast operand may
/// get its gradient at the broadcast shape. At backward the tape checks that no operand, saved tensor or output was
/// written in place since, and that each gradient has its operand's gradient dtype (or its value's, which is then
/// converted) and a shape that sums to its operand's.
template <class Vjp, class... Kept>
Var record(const char* op, Tensor value, std::vector<Var> parents, Vjp vjp, Kept... kept) {  // NOLINT: moved on
  static_assert(std::is_empty_v<Vjp>, "a vjp captures nothing: hand what it keeps to record()");
  static_assert((detail::may_keep<Kept> && ...), "a vjp keeps tensors as saved(name, tensor), and numbers");
  return detail::record(
      op, std::move(value), std::move(parents),
      [op, vjp, all = std::tuple<Kept...>(std::move(kept)...)](const Tensor& dy, const Needs& needs) {
        static_cast<void>(op);  // read only if something is kept
        return std::apply(
            [&](const Kept&... each) -> std::vector<Tensor> { return vjp(dy, needs, detail::given(op, each)...); },
            all);
      });
}

/// The gradients f(true, true), where f(needs_x, needs_rest) gives a struct with `dx` for operand 0. If both are needed
/// and may be apart, those of the rest are queued in an engine::SideScope.
template <class F>
auto rest_aside(const Needs& needs, const F& f) {
  if (!needs[0] || !needs.may_be_aside(1)) return f(true, true);
  auto gradients = [&] {
    const engine::SideScope side;
    return f(false, true);
  }();
  gradients.dx = f(true, false).dx;
  return gradients;
}

/// Counts gradients that this thread's vjps made, in new storage, for operands that needed none. The op suite requires
/// that ops add nothing to it.
int64_t unwanted_gradients();

/// Disables gradient recording on this thread for the scope's lifetime.
class NoGrad : engine::ContextScope {
 public:
  NoGrad() : ContextScope(with(&engine::Context::records, false)) {}
};
inline bool grad_enabled() { return engine::context().records; }

/// y = f(inputs) without keeping f's saved values: backward() runs f again (Chen et al., "Training deep nets with
/// sublinear memory cost", 2016). f must be a pure function of `inputs` and of leaves it captures; give random ops
/// their keys beforehand, so that both runs draw the same values. Throws Error if f captures a value that is not a
/// leaf, and at backward if a captured leaf was written in place since, or the second run (on the CPU) gives other bits
/// than the first: f is not pure, or a tensor it captures was overwritten.
Var checkpoint(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs);

}  // namespace headroom::autograd
