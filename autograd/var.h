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
#include "engine/tensor.h"

namespace headroom::autograd {

using engine::Shape;
using engine::Tensor;

struct Node;

class Var;

/// Which operands of an op need a gradient: needs[i] for the i-th; a vjp computes nothing for the others. And ways to
/// save a pass over memory, for a vjp that can use them.
class Needs {
 public:
  /// For the operands of one op, which outlive this.
  explicit Needs(const std::vector<Var>& operands);
  bool operator[](size_t i) const { return wanted_[i]; }
  /// The gradient of operand i as other ops have given it so far; undefined where none has, or it is a leaf. A vjp
  /// that takes it gives operand i the sum of it and its own.
  Tensor take(size_t i) const;
  /// Where the gradient of operand i belongs, for a vjp that can write it there instead of into a tensor of its own,
  /// and then returns that: the place in an arena (in the leaf's grad_dtype()) of a leaf, or in the gradient of what
  /// split() has cut of one of its parts, if it has no gradient yet and is no other operand. Undefined for all others.
  Tensor place(size_t i) const;
  /// The same place of a leaf that has a gradient by now, for a vjp that can add its own there, and then returns that.
  Tensor present(size_t i) const;
  /// The places of operands [first, first + count) as one (see neighbours()); undefined unless all have one.
  Tensor place(size_t first, size_t count) const;

 private:
  Tensor found(size_t i, bool is_fresh) const;

  const std::vector<Var>& operands_;
  std::vector<bool> wanted_;
};

namespace detail {
/// A vjp with what it keeps.
using BoundVjp = std::function<std::vector<Tensor>(const Tensor& dy, const Needs& needs)>;
/// `place`: gives Needs::place() of the result.
Var record(const char* op, Tensor value, std::vector<Var> parents, BoundVjp vjp, std::function<Tensor()> place = {});
}  // namespace detail

/// A value in the graph of computations: a cheap handle, copied like a pointer.
///
/// Threads: each thread builds and runs graphs of its own. Threads may share leaves that nobody writes to, such as a
/// model's weights; backward() writes to the gradients of the leaves that it reaches, so only one thread at a time may
/// run it towards one leaf.
class Var {
 public:
  Var() = default;  ///< undefined: an optional operand that is absent
  /// A leaf: a constant, or with `requires_grad` something to differentiate with respect to. An undefined tensor gives
  /// an undefined Var.
  explicit Var(Tensor value, bool requires_grad = false);

  bool defined() const { return node_ != nullptr; }
  const Tensor& value() const;  ///< undefined for an undefined Var: an op that needs one says which
  const Shape& shape() const { return value().shape(); }
  int64_t dim(int axis) const { return value().dim(axis); }
  bool requires_grad() const;
  /// dL/d(this), summed over every backward() since the last zero_grad(); undefined before the first. Kept for leaves
  /// only, in memory that no other gradient and no caller's tensor shares.
  Tensor grad() const;
  void zero_grad() const;
  /// What somebody else wrote into the buffer of a bound leaf's gradient is its gradient, until the next zero_grad().
  void keep_grad() const;
  /// The same value, cut off from the graph; undefined if this is.
  Var detach() const { return Var(value()); }

  /// Runs the tape backwards from this value and adds into the grad of every leaf. Saved values are freed as it goes: a
  /// second backward() through the same graph is an Error. Without `dy`, this must have one element and dy = 1.
  /// `finished` is called with each leaf that an op on the way has as an operand, once, when no op that is still to
  /// come has: its gradient is then final.
  using Finished = std::function<void(const Var& leaf)>;
  void backward(const Finished& finished = {}) const;
  void backward(const Tensor& dy, const Finished& finished = {}) const;

  /// The dtype that its gradient has: its value's, unless bind() declared another.
  engine::DType grad_dtype() const;

  /// Makes a leaf's value and gradient views of an arena's buffers, of any floating dtypes: f32 gradients for bf16
  /// values, for example. The gradient buffer counts as zero until the next backward(). `owner` is what the buffers
  /// belong to: while it lives, is_bound() says so. Throws Error when the leaf is bound to another.
  void bind(const Tensor& value, const Tensor& grad, std::weak_ptr<const void> owner = {}) const;
  /// The same in flat buffers (N), where the leaf has the elements from `offset` on.
  void bind(const Tensor& values, const Tensor& gradients, int64_t offset, std::weak_ptr<const void> owner) const;
  bool is_bound() const;

  const std::shared_ptr<Node>& node() const { return node_; }

 private:
  friend Var detail::record(const char*, Tensor, std::vector<Var>, detail::BoundVjp, std::function<Tensor()>);
  std::shared_ptr<Node> node_;
};

/// The values of leaves (n_i, …) that follow one another in an arena without a gap, as one: (Σ n_i, …), a view.
/// Undefined where they do not.
Tensor neighbours(std::span<const Var> leaves);

/// A tensor for record() to keep, under the name that errors give it.
inline Saved saved(const char* name, const Tensor& tensor) { return {name, tensor}; }
inline Saved saved(const char* name, const Var& var) { return {name, var.value()}; }

/// The only way to make a Var that depends on others: an op's name, its value, its operands (undefined ones allowed),
/// its vjp, and what the vjp is given besides dy. Names are string literals, or live as long as the graph:
///
///     record("mul", y, {a, b}, [](const Tensor& dy, const Needs& needs, const Tensor& a, const Tensor& b) {…},
///            saved("a", a), saved("b", b));
///
/// The vector-Jacobian product goes from dL/dy to dL/d(operand i), undefined where !needs[i]. It is a pure function: it
/// captures nothing, and each tensor that it keeps is a saved() one, so that a write to it before backward() is an
/// Error and not a wrong gradient. Numbers, shapes, lists of numbers and structs of these are kept as they are. An
/// operand that was broadcast may get its gradient at the broadcast shape. At backward the tape checks that no operand,
/// nothing saved and no output was written in place since, and that each gradient has its operand's gradient dtype (or
/// its value's, which is then converted) and a shape that sums to its operand's.
template <class Vjp, class... Kept>
Var record(const char* op, Tensor value, std::vector<Var> parents, Vjp vjp, Kept... kept) {
  static_assert(std::is_empty_v<Vjp>, "a vjp captures nothing: hand what it keeps to record()");
  static_assert((detail::may_keep<Kept> && ...), "a vjp keeps tensors as saved(name, tensor), and numbers");
  return detail::record(
      op, std::move(value), std::move(parents),
      [op, vjp, all = std::tuple<Kept...>(std::move(kept)...)](const Tensor& dy, const Needs& needs) {
        static_cast<void>(op);  // read only where something is kept
        return std::apply(
            [&](const Kept&... each) -> std::vector<Tensor> { return vjp(dy, needs, detail::given(op, each)...); },
            all);
      });
}

/// Gradients that vjps of this thread made, in storage of their own, for operands that needed none. The op suite
/// requires that an op adds nothing to it.
int64_t unwanted_gradients();

/// While it lives, this thread's ops record nothing.
class NoGrad : engine::ContextScope {
 public:
  NoGrad() : ContextScope(with(&engine::Context::records, false)) {}
};
inline bool grad_enabled() { return engine::context().records; }

/// y = f(inputs) without keeping what f saves: backward() runs f again (Chen et al., "Training deep nets with sublinear
/// memory cost", 2016). f must be a pure function of `inputs` and of leaves that it captures; random ops inside it get
/// their keys beforehand, so that both runs draw the same values. Throws Error when f captures a value that is not a
/// leaf, and at backward when a captured leaf was written in place since, or when the second run (on the CPU) gives
/// other bits than the first: f is not pure, or a tensor that it captures was overwritten.
Var checkpoint(const std::function<Var(const std::vector<Var>&)>& f, const std::vector<Var>& inputs);

}  // namespace headroom::autograd
