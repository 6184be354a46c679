#include "engine/ops/quantized_linear/quantized_linear.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "engine/backend.h"
#include "engine/cpu/gemm.h"
#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

/// Rows of W that are unpacked at a time: their f32 stay in the second-level cache up to some thousand columns.
constexpr int64_t rows_at_once = 64;
/// Columns of W that are unpacked at a time for the gradient, all rows of them: whole blocks of every format.
constexpr int64_t columns_at_once = 256;

/// (…, C) as (rows, C).
Tensor as_rows(const Tensor& x) { return x.reshape({x.shape().numel(0, x.rank() - 1), x.dim(-1)}).contiguous(); }

/// The formula. W's rows one after the other, as each is unpacked once.
template <class T>
void forward_reference(const T* x, const QuantizedMatrix& w, const T* bias, T* y, int64_t rows) {
  const int64_t in = w.cols(), out = w.rows();
  std::vector<float> row(static_cast<size_t>(in));
  for (int64_t o = 0; o < out; ++o) {
    w.dequantize_row(o, 0, in, row.data());
    for (int64_t r = 0; r < rows; ++r) {
      T sum = 0;
      for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * static_cast<T>(row[static_cast<size_t>(i)]);
      y[r * out + o] = bias ? sum + bias[o] : sum;
    }
  }
}

template <class T>
void grad_reference(const T* dy, const QuantizedMatrix& w, T* dx, int64_t rows) {
  const int64_t in = w.cols(), out = w.rows();
  std::vector<float> row(static_cast<size_t>(in));
  std::fill(dx, dx + rows * in, T(0));
  for (int64_t o = 0; o < out; ++o) {
    w.dequantize_row(o, 0, in, row.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < in; ++i) dx[r * in + i] += dy[r * out + o] * static_cast<T>(row[static_cast<size_t>(i)]);
  }
}

void forward_fast(const float* x, const QuantizedMatrix& w, const float* bias, float* y, int64_t rows) {
  const int64_t in = w.cols(), out = w.rows();
  parallel_ranges(out, rows_at_once, [&](int64_t begin, int64_t end) {
    const Tensor unpacked = Tensor::empty({end - begin, in});
    auto* values = unpacked.mutable_data<float>();
    for (int64_t o = begin; o < end; ++o) w.dequantize_row(o, 0, in, values + (o - begin) * in);
    gemm(MatrixProduct<float>{
        rows, end - begin, in, {x, in}, {values, in, true}, y + begin, out, bias ? bias + begin : nullptr});
  });
}

void grad_fast(const float* dy, const QuantizedMatrix& w, float* dx, int64_t rows) {
  const int64_t in = w.cols(), out = w.rows();
  parallel_ranges(in, columns_at_once, [&](int64_t begin, int64_t end) {
    const int64_t columns = end - begin;
    const Tensor unpacked = Tensor::empty({out, columns});
    auto* values = unpacked.mutable_data<float>();
    for (int64_t o = 0; o < out; ++o) w.dequantize_row(o, begin, end, values + o * columns);
    gemm(MatrixProduct<float>{rows, columns, out, {dy, out}, {values, columns}, dx + begin, in});
  });
}

}  // namespace

Tensor quantized_linear(const Tensor& x, const QuantizedMatrix& weight, const Tensor& bias) {
  check_floating("quantized_linear", {&x});
  if (bias.defined()) check_floating("quantized_linear", {&x, &bias});
  require(weight.defined(), "quantized_linear: the weight is undefined");
  require(x.rank() >= 1 && x.dim(-1) == weight.cols(),
          "quantized_linear: x (…, in) does not fit weight (out, in): x {}, weight {}", x.shape().str(), weight.str());
  require(!bias.defined() || bias.shape() == Shape{weight.rows()},
          "quantized_linear: bias {} does not fit weight (out, in) {}", bias.shape().str(), weight.str());
  const Tensor rows = as_rows(x);                                                // (rows, in)
  const Tensor b = bias.defined() ? bias.contiguous() : Tensor();                // (out)
  const Tensor y = Tensor::empty(x.shape().with(-1, weight.rows()), x.dtype());  // (…, out)
  if (y.numel() == 0) return y;
  visit_real("quantized_linear", x, [&](auto zero) {
    using T = decltype(zero);
    const T* added = b.defined() ? b.data<T>() : nullptr;
    if constexpr (std::is_same_v<T, float>)
      if (!reference_only()) return forward_fast(rows.data<T>(), weight, added, y.mutable_data<T>(), rows.dim(0));
    forward_reference(rows.data<T>(), weight, added, y.mutable_data<T>(), rows.dim(0));
  });
  return y;
}

Tensor quantized_linear_grad(const Tensor& dy, const QuantizedMatrix& weight) {
  const Tensor rows = as_rows(dy);                                                  // (rows, out)
  const Tensor dx = Tensor::empty(dy.shape().with(-1, weight.cols()), dy.dtype());  // (…, in)
  if (dx.numel() == 0) return dx;
  visit_real("quantized_linear", dy, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float>)
      if (!reference_only()) return grad_fast(rows.data<T>(), weight, dx.mutable_data<T>(), rows.dim(0));
    grad_reference(rows.data<T>(), weight, dx.mutable_data<T>(), rows.dim(0));
  });
  return dx;
}

}  // namespace headroom::engine
