#include "engine/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/cpu/gemm.h"
#include "engine/error.h"
#include "engine/finite.h"

namespace headroom::engine::linalg {
namespace {

/// to[j·to_step + i] = from[i·from_step + j] for i < m, j < n: in squares, so that neither side walks far.
void transpose(const double* from, int64_t from_step, double* to, int64_t to_step, int64_t m, int64_t n) {
  constexpr int64_t square = 16;
  for (int64_t i0 = 0; i0 < m; i0 += square)
    for (int64_t j0 = 0; j0 < n; j0 += square)
      for (int64_t j = j0; j < std::min(n, j0 + square); ++j)
        for (int64_t i = i0; i < std::min(m, i0 + square); ++i) to[j * to_step + i] = from[i * from_step + j];
}

MatrixFactor<double> factor(const View& x, bool transposed) { return {x.data, x.step, transposed}; }

}  // namespace

Dense::Dense(int64_t rows, int64_t columns) : Dense(empty(rows, columns)) {
  std::fill_n(view_.data, rows * columns, 0.0);
}

Dense Dense::empty(int64_t rows, int64_t columns) {
  Dense out;
  out.storage_ = Tensor::empty({rows * columns}, DType::f64);
  out.view_ = {out.storage_.mutable_data<double>(), rows, columns, rows};
  return out;
}

Dense Dense::from_rows(const double* x, int64_t rows, int64_t columns, bool transposed) {
  Dense out = transposed ? empty(columns, rows) : empty(rows, columns);
  if (transposed) std::copy(x, x + rows * columns, out.view_.data);
  else transpose(x, columns, out.view_.data, rows, rows, columns);
  return out;
}

Dense Dense::copy_of(const View& x, bool transposed) {
  Dense out = transposed ? empty(x.columns, x.rows) : empty(x.rows, x.columns);
  if (transposed) transpose(x.data, x.step, out.view_.data, x.columns, x.columns, x.rows);
  else copy(x, out.view_);
  return out;
}

Dense Dense::identity(int64_t rows, int64_t columns) {
  Dense out(rows, columns);
  for (int64_t i = 0; i < std::min(rows, columns); ++i) out(i, i) = 1;
  return out;
}

void copy(const View& from, const View& to) {
  for (int64_t j = 0; j < from.columns; ++j) std::copy_n(from.column(j), from.rows, to.column(j));
}

double largest_of(const View& x) {
  double largest = 0;
  for (int64_t j = 0; j < x.columns; ++j)
    for (int64_t i = 0; i < x.rows; ++i) largest = std::max(largest, std::abs(x(i, j)));
  return largest;
}

void scale(const View& x, int exponent) {
  if (exponent == 0) return;
  const bool is_normal = std::abs(exponent) < 1022;  // a factor that is a number: the product rounds as scalbn does
  const double factor = is_normal ? std::scalbn(1, exponent) : 1;
  for (int64_t j = 0; j < x.columns; ++j)
    for (int64_t i = 0; i < x.rows; ++i) x(i, j) = is_normal ? x(i, j) * factor : std::scalbn(x(i, j), exponent);
}

void negate(const View& x) {
  for (int64_t j = 0; j < x.columns; ++j)
    for (int64_t i = 0; i < x.rows; ++i) x(i, j) = -x(i, j);
}

int exponent_of(double largest) {
  constexpr int near = 300;
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  return std::abs(exponent) <= near ? 0 : exponent;
}

void to_rows(const View& x, double* to, bool transposed) {
  if (transposed) copy(x, {to, x.rows, x.columns, x.rows});
  else transpose(x.data, x.step, to, x.columns, x.columns, x.rows);
}

void multiply(const Product& product, const View& c, bool add) {
  // The packed kernel writes rows: Cᵀ = op(B)ᵀ · op(A)ᵀ, and a column-major matrix is its transpose by rows.
  const int64_t k = product.transpose_a ? product.a.rows : product.a.columns;
  gemm<double>({c.columns, c.rows, k, factor(product.b, product.transpose_b), factor(product.a, product.transpose_a),
                c.data, c.step, nullptr, add});
}

Dense product_of(const Product& product) {
  Dense out = Dense::empty(product.transpose_a ? product.a.columns : product.a.rows,
                           product.transpose_b ? product.b.rows : product.b.columns);
  multiply(product, out.view());
  return out;
}

Stack stack_of(const char* op, const char* name, const Tensor& x) {
  require(x.defined(), "{}: {} is undefined", op, name);
  require(x.dtype() == DType::f32 || x.dtype() == DType::f64, "{}: {} is {}, not f32 or f64", op, name, x);
  require(x.rank() >= 2, "{}: {} is {}: expected >= 2 axes", op, name, x);
  Stack out;
  out.x = x.to(cpu).to(DType::f64).contiguous();
  out.leading = x.shape().without(-1).without(-1);
  out.count = out.leading.numel();
  out.rows = x.dim(-2);
  out.columns = x.dim(-1);
  out.dtype = x.dtype();
  const std::optional<std::string> bad = first_not_finite(out.x);
  require(!bad, "{}: {} holds {}: only finite numbers can be factored", op, name, bad.value_or(""));
  return out;
}

Stack square_stack_of(const char* op, const char* name, const Tensor& x) {
  Stack out = stack_of(op, name, x);
  require(out.rows == out.columns, "{}: {} is {}, not a square matrix", op, name, x);
  return out;
}

Output::Output(const Stack& like, int64_t rows, int64_t columns) : size_(rows * columns), dtype_(like.dtype) {
  Shape shape = like.leading;
  shape.push_back(rows);
  shape.push_back(columns);
  x_ = Tensor::zeros(shape, DType::f64);
}

Output::Output(const Stack& like, int64_t n) : size_(n), dtype_(like.dtype) {
  Shape shape = like.leading;
  shape.push_back(n);
  x_ = Tensor::zeros(shape, DType::f64);
}

std::vector<int64_t> falling_order(const std::vector<double>& values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return values[static_cast<size_t>(i)] > values[static_cast<size_t>(j)];
  });
  return order;
}

std::string name_of_matrix(const char* op, const Stack& stack, int64_t i) {
  return stack.count == 1 ? std::string(op) : fmt::format("{} of matrix {}", op, i);
}

}  // namespace headroom::engine::linalg
