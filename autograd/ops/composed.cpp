#include "autograd/ops/composed.h"

#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "engine/error.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/gather/gather.h"
#include "engine/ops/max/max.h"
#include "engine/ops/where/where.h"
#include "engine/sequences/argsort.h"

namespace headroom::autograd {
namespace {

/// The axis, from the first. Throws Error naming op and operand if x is undefined or has no such axis.
int axis_of(const char* op, const Var& x, int axis) {
  require(x.defined(), "{}: operand x is undefined", op);
  return x.shape().index(axis, op);
}

void check_axes(const char* op, const Var& x, const std::vector<int>& axes) {
  require(x.defined(), "{}: operand x is undefined", op);
  for (const int axis : axes) static_cast<void>(x.shape().index(axis, op));
}

Tensor number(double value, const Tensor& like) { return Tensor::full({}, value, like.dtype(), like.device()); }

/// x where `keep`, else 0, also where x is not finite.
Var kept(const Tensor& keep, const Var& x) { return where(keep, x, number(0, x.value())); }

/// j - k and i of elements (i, j) of x's matrices: what a diagonal compares.
std::pair<Tensor, Tensor> places(const char* op, const Var& x, int64_t k) {
  require(x.defined(), "{}: operand x is undefined", op);
  require(x.shape().rank() >= 2, "{}: x {} is no matrix", op, x.value());
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  const engine::Device device = x.value().device();
  return {Tensor::arange(-k, columns - k).to(device), Tensor::arange(0, rows).reshape({rows, 1}).to(device)};
}

void check_pair(const char* op, const char* names[2], const Var& a, const Var& b) {
  if (!a.defined() || !b.defined() || a.shape() != b.shape())
    fail("{}: shapes differ: {} {}, {} {}", op, names[0], a.value().str(), names[1], b.value().str());
}

/// prediction - target.
Var difference(const char* op, const Var& prediction, const Var& target) {
  const char* names[] = {"prediction", "target"};
  check_pair(op, names, prediction, target);
  return prediction - target;
}

Var reduced(const Var& terms, Reduction reduction) {
  const auto n = static_cast<double>(terms.value().numel());
  return reduction == Reduction::sum ? sum(terms) : scale(sum(terms), n > 0 ? 1 / n : 0);
}

}  // namespace

Var cumsum(const Var& x, int axis) {
  const int along = axis_of("cumsum", x, axis);
  const int64_t n = x.dim(along);
  Var y = x;
  for (int64_t shift = 1; shift < n; shift *= 2) y = y + pad(slice(y, along, 0, n - shift), along, shift, 0);
  return y;
}

std::pair<Var, Tensor> sort(const Var& x, int axis, bool descending) {
  const Tensor order = engine::argsort(x.value(), axis_of("sort", x, axis), descending);
  return {gather(x, axis, order), order};
}

std::pair<Var, Tensor> topk(const Var& x, int64_t k, int axis) {
  const int along = axis_of("topk", x, axis);
  require(k >= 0 && k <= x.dim(along), "topk: {} of axis {} of x {}", k, axis, x.value());
  const Tensor order = engine::argsort(x.value(), along, true).slice(along, 0, k).contiguous();
  return {gather(x, along, order), order};
}

Var scatter_add(const Var& x, int axis, const Tensor& index, const Var& source) {
  const int along = axis_of("scatter_add", x, axis);
  require(source.defined(), "scatter_add: operand source is undefined");
  require(index.defined(), "scatter_add: operand index is undefined");
  if (source.shape().rank() != x.shape().rank() || source.shape().with(along, x.dim(along)) != x.shape())
    fail("scatter_add: x {} and source {} differ outside axis {}", x.value().str(), source.value().str(), axis);
  const Var added = record(
      "scatter_add", engine::gather_grad(source.value(), x.shape(), along, index), {source},
      [](const Tensor& dy, const Needs&, int kept_axis, const Tensor& kept_index) -> std::vector<Tensor> {
        return {engine::gather(dy, kept_axis, kept_index)};
      },
      along, saved("index", index));
  return x + added;
}

Tensor one_hot(const Tensor& index, int64_t classes, engine::DType dtype) {
  require(classes >= 0, "one_hot: {} classes", classes);
  require(index.defined(), "one_hot: operand index is undefined");
  return engine::embedding(Tensor::eye(classes, dtype).to(index.device()), index);
}

Var logsumexp(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  check_axes("logsumexp", x, axes);
  const Tensor most = engine::max(x.value(), axes, true).y;
  const Tensor is_finite = less(abs(Var(most)), std::numeric_limits<double>::infinity());
  const Tensor shift = engine::where(is_finite, most, number(0, most));
  const Var total = sum(exp(x - shift), axes, keep_axes);
  return log(total) + reshape(shift, total.shape());
}

Var l2_norm(const Var& x, const std::vector<int>& axes, bool keep_axes) {
  check_axes("l2_norm", x, axes);
  const Var squares = sum(x * x, axes, keep_axes);
  const Tensor is_zero = equal(squares, 0.0);  // there √ has no slope: of 1 it has, and the chain's next factor is 0
  return kept(!is_zero, sqrt(where(is_zero, number(1, squares.value()), squares)));
}

Var pad(const Var& x, int axis, int64_t before, int64_t after, double value) {
  const int along = axis_of("pad", x, axis);
  require(before >= 0 && after >= 0, "pad: {} before and {} after x {}", before, after, x.value());
  const auto part = [&](int64_t n) {
    return Tensor::full(x.shape().with(along, n), value, x.value().dtype(), x.value().device());
  };
  return concat({part(before), x, part(after)}, along);
}

Var tril(const Var& x, int64_t k) {
  const auto [columns, rows] = places("tril", x, k);
  return kept(engine::less_equal(columns, rows), x);
}

Var triu(const Var& x, int64_t k) {
  const auto [columns, rows] = places("triu", x, k);
  return kept(engine::greater_equal(columns, rows), x);
}

Var conv1d(const Var& x, const Var& weight, const Var& bias, const Conv1dOptions& o) {
  require(x.defined(), "conv1d: operand x is undefined");
  require(weight.defined(), "conv1d: operand weight is undefined");
  if (x.shape().rank() != 3 || weight.shape().rank() != 3 || x.dim(1) != weight.dim(1))
    fail("conv1d: x {} is not (B, C, T) or weight {} not (O, C, K)", x.value().str(), weight.value().str());
  require(o.stride >= 1 && o.dilation >= 1, "conv1d: stride {}, dilation {}", o.stride, o.dilation);
  const Var padded = pad(x, 2, o.before, o.after);
  const int64_t batch = x.dim(0), rows = weight.dim(1) * weight.dim(2), taps = weight.dim(2);
  const int64_t reach = padded.dim(2) - o.dilation * (taps - 1);  // of the first tap
  require(taps >= 1 && reach >= 1, "conv1d: {} taps, {} apart, do not fit: x {}, weight {}", taps, o.dilation,
          x.value(), weight.value());
  const int64_t length = (reach - 1) / o.stride + 1;
  std::vector<int64_t> at;  // (K · T')
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t t = 0; t < length; ++t) at.push_back(t * o.stride + tap * o.dilation);
  const Tensor indices = Tensor::from({std::ssize(at)}, at).to(x.value().device());
  const Var columns = reshape(index_select(padded, 2, indices), {batch, rows, length});  // (B, C · K, T')
  const Var y = matmul(reshape(weight, {weight.dim(0), rows}), columns);                 // (B, O, T')
  return bias.defined() ? y + reshape(bias, {weight.dim(0), 1}) : y;
}

Var l1(const Var& prediction, const Var& target, Reduction reduction) {
  return reduced(abs(difference("l1", prediction, target)), reduction);
}

Var huber(const Var& prediction, const Var& target, double delta, Reduction reduction) {
  require(delta > 0, "huber: a delta of {}", delta);
  const Var d = abs(difference("huber", prediction, target)), near = minimum(d, delta);
  return reduced(near * (d - scale(near, 0.5)), reduction);
}

Var bce_with_logits(const Var& logits, const Var& targets, Reduction reduction) {
  const char* names[] = {"logits", "targets"};
  check_pair("bce_with_logits", names, logits, targets);
  return reduced(maximum(logits, 0.0) - logits * targets + log1p(exp(-abs(logits))), reduction);
}

}  // namespace headroom::autograd
