#pragma once
#include <cstdint>

namespace headroom::engine {

/// One factor of a product in memory: element (i, j) is data[i·stride + j], or data[j·stride + i] if `transposed`.
template <class T>
struct MatrixFactor {
  const T* data;
  int64_t stride;
  bool transposed = false;
};

/// C (m, n) = A (m, k) · B (k, n) + bias (n), C row-major with rows `ldc` apart. With k = 0 the result is the bias, or
/// zero.
template <class T>
struct MatrixProduct {
  int64_t m, n, k;
  MatrixFactor<T> a, b;
  T* c;
  int64_t ldc;
  const T* bias = nullptr;
  bool add = false;  ///< C += A · B instead, without a bias
};

/// Runs `batch` products of one shape in parallel, the i-th with its data a_offsets[i] (b_offsets[i], i·c_step)
/// elements further on. Null offsets: the same A (or B) for all. Tiles and the order of adding chunks of k depend only
/// on the shape, so the bits are the same on any number of threads. T: f32 or f64.
///
/// f32 tiles use our own packed kernel or oneDNN, by the context's product_path. `best` takes whichever measured
/// faster: up to AVX2 our own kernel (equal on tall products, twice as fast on transposed A), except for a few rows;
/// from AVX-512 on oneDNN, if built in, except for sums of up to 64 terms with a bias.
template <class T>
void gemm(const MatrixProduct<T>& product, int64_t batch = 1, const int64_t* a_offsets = nullptr,
          const int64_t* b_offsets = nullptr, int64_t c_step = 0);

/// The plain loops that define a product: every sum runs through k in order. Does not support `add`.
template <class T>
void gemm_loops(const MatrixProduct<T>& product, int64_t batch = 1, const int64_t* a_offsets = nullptr,
                const int64_t* b_offsets = nullptr, int64_t c_step = 0);

}  // namespace headroom::engine
