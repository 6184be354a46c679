#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"

/// Shared parts of the factorisations in engine/linalg: all compute on column-major doubles, whatever the tensors'
/// dtype.
namespace headroom::engine::linalg {

/// A column-major view: element (i, j) is data[j·step + i].
struct View {
  double* data = nullptr;
  int64_t rows = 0, columns = 0, step = 0;

  double& operator()(int64_t i, int64_t j) const { return data[j * step + i]; }
  double* column(int64_t j) const { return data + j * step; }
  /// The `m` × `n` elements from (i, j) on.
  View block(int64_t i, int64_t j, int64_t m, int64_t n) const { return {data + j * step + i, m, n, step}; }
};

/// A column-major matrix that owns its memory; zero when made.
class Dense {
 public:
  Dense() = default;
  Dense(int64_t rows, int64_t columns);
  /// A matrix with uninitialised elements.
  static Dense empty(int64_t rows, int64_t columns);
  /// Copies row-major elements, or their transpose.
  static Dense from_rows(const double* x, int64_t rows, int64_t columns, bool transpose = false);
  static Dense copy_of(const View& x, bool transpose = false);
  static Dense identity(int64_t rows, int64_t columns);

  int64_t rows() const { return view_.rows; }
  int64_t columns() const { return view_.columns; }
  double& operator()(int64_t i, int64_t j) { return view_(i, j); }
  double operator()(int64_t i, int64_t j) const { return view_(i, j); }
  View view() const { return view_; }
  View block(int64_t i, int64_t j, int64_t m, int64_t n) const { return view_.block(i, j, m, n); }

  Dense(Dense&& other) = default;
  Dense& operator=(Dense&& other) = default;
  Dense(const Dense&) = delete;
  Dense& operator=(const Dense&) = delete;

 private:
  Tensor storage_;  ///< from the engine's allocator, which reuses blocks instead of asking the system
  View view_;
};

/// max |x_ij|.
double largest_of(const View& x);
/// x · 2^exponent in place: exact.
void scale(const View& x, int exponent);
/// -x in place.
void negate(const View& x);
/// The exponent of a power of two to divide a matrix with this largest element by, so that squares stay normal; 0 for
/// elements near one.
int exponent_of(double largest);
/// to = from, of the same size.
void copy(const View& from, const View& to);
/// Writes x in row-major order, or its transpose.
void to_rows(const View& x, double* to, bool transpose = false);

/// c = op(a) · op(b), or c += op(a) · op(b) with `add`. In parallel over tiles that depend only on the shape.
struct Product {
  View a, b;
  bool transpose_a = false, transpose_b = false;
};
void multiply(const Product& product, const View& c, bool add = false);
/// a · b as a new matrix.
Dense product_of(const Product& product);

/// An operation's input stack of matrices: (…, rows, columns) in f64, checked.
struct Stack {
  Tensor x;       ///< f64, contiguous
  Shape leading;  ///< (…)
  int64_t count = 0, rows = 0, columns = 0;
  DType dtype = DType::f64;  ///< of the input, and of the result

  const double* at(int64_t i) const { return x.data<double>() + i * rows * columns; }
  Dense dense(int64_t i, bool transpose = false) const { return Dense::from_rows(at(i), rows, columns, transpose); }
};

/// Reads an argument. Throws Error naming `op` and `name` for a tensor that is undefined, not f32 or f64, has fewer
/// than two axes, or holds a NaN or an infinity (naming its first index).
Stack stack_of(const char* op, const char* name, const Tensor& x);
/// The same for a square matrix.
Stack square_stack_of(const char* op, const char* name, const Tensor& x);

/// An operation's result: f64 (leading…, m, n), filled matrix by matrix and then finish()ed to the dtype.
class Output {
 public:
  Output(const Stack& like, int64_t rows, int64_t columns);
  /// Vectors: (leading…, n).
  Output(const Stack& like, int64_t n);
  double* at(int64_t i) const { return x_.mutable_data<double>() + i * size_; }
  Tensor finish() const { return x_.to(dtype_); }

 private:
  Tensor x_;
  int64_t size_;
  DType dtype_;
};

/// The places of the values from the largest to the smallest; equal ones keep their order.
std::vector<int64_t> falling_order(const std::vector<double>& values);

/// A matrix's name in errors: "svd", or "svd of matrix 3" in a stack.
std::string name_of_matrix(const char* op, const Stack& stack, int64_t i);

}  // namespace headroom::engine::linalg
