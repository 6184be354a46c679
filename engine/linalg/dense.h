#pragma once
#include <cstdint>
#include <vector>

#include "engine/tensor.h"

/// What the factorisations of engine/linalg share: they all compute on column-major doubles, whatever the tensors'
/// dtype.
namespace headroom::engine::linalg {

/// A column-major view: element (i, j) lies at data[j·step + i].
struct View {
  double* data = nullptr;
  int64_t rows = 0, columns = 0, step = 0;

  double& operator()(int64_t i, int64_t j) const { return data[j * step + i]; }
  double* column(int64_t j) const { return data + j * step; }
  /// `m` × `n` elements from (i, j) on.
  View block(int64_t i, int64_t j, int64_t m, int64_t n) const { return {data + j * step + i, m, n, step}; }
};

/// A column-major matrix that owns its memory; zero when made.
class Dense {
 public:
  Dense() = default;
  Dense(int64_t rows, int64_t columns);
  /// One whose elements are not set yet.
  static Dense empty(int64_t rows, int64_t columns);
  /// A copy of row-major elements, or of those of the transpose.
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
  Tensor storage_;  ///< from the engine's allocator, which reuses blocks where malloc would ask the system
  View view_;
};

/// max |x_ij|.
double largest_of(const View& x);
/// x · 2^exponent in place: rounds nothing.
void scale(const View& x, int exponent);
/// The power of two that a matrix with this largest element is divided by so that squares stay normal numbers: 0, none,
/// for elements near one.
int exponent_of(double largest);
/// to = from, of one size.
void copy(const View& from, const View& to);
/// Writes x in row-major order, or its transpose.
void to_rows(const View& x, double* to, bool transpose = false);

/// c = op(a) · op(b), or c += sign · op(a) · op(b) with `add`. In parallel over tiles that the shape alone decides.
struct Product {
  View a, b;
  bool transpose_a = false, transpose_b = false;
};
void multiply(const Product& product, const View& c, bool add = false);
/// a · b as a new matrix.
Dense product_of(const Product& product);

/// A stack of matrices that an operation was given: (…, rows, columns) in f64, checked.
struct Stack {
  Tensor x;       ///< f64, contiguous
  Shape leading;  ///< (…)
  int64_t count = 0, rows = 0, columns = 0;
  DType dtype = DType::f64;  ///< of what was given, and of what is given back

  const double* at(int64_t i) const { return x.data<double>() + i * rows * columns; }
  Dense dense(int64_t i, bool transpose = false) const { return Dense::from_rows(at(i), rows, columns, transpose); }
};

/// Reads an argument. Throws Error naming `op` and `name` for a tensor that is undefined, not f32 or f64, of fewer than
/// two axes, or that holds a NaN or an infinity (its first index is named).
Stack stack_of(const char* op, const char* name, const Tensor& x);
/// The same for a matrix that must be square.
Stack square_stack_of(const char* op, const char* name, const Tensor& x);

/// What an operation gives back: f64 (leading…, m, n) to be filled matrix by matrix, then finish()ed to the dtype.
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

/// "svd" or, of a stack, "svd of matrix 3": how an error names one of several matrices.
std::string name_of_matrix(const char* op, const Stack& stack, int64_t i);

}  // namespace headroom::engine::linalg
