#pragma once
#include <cstdint>

namespace headroom::engine {

/// One factor of a product in memory: element (i, j) lies at data[i·stride + j], or at data[j·stride + i] when
/// `transposed`.
template <class T>
struct MatrixFactor {
  const T* data;
  int64_t stride;
  bool transposed = false;
};

/// C (m, n) = A (m, k) · B (k, n) + bias (n), C row-major with rows `ldc` apart. A product over k = 0 is the bias, or
/// zero.
template <class T>
struct MatrixProduct {
  int64_t m, n, k;
  MatrixFactor<T> a, b;
  T* c;
  int64_t ldc;
  const T* bias = nullptr;
};

/// Runs `batch` products of one shape, the i-th with its data a_offsets[i] (b_offsets[i], i·c_step) elements further
/// on. Null offsets: the same A (or B) for all. In parallel; the cut into tiles and the order in which the chunks of k
/// are added depend on the shape alone, so the bits are the same on any number of threads. f32 takes the fast path
/// unless reference_only(); f64 the plain loops.
void gemm(const MatrixProduct<float>& product, int64_t batch = 1, const int64_t* a_offsets = nullptr,
          const int64_t* b_offsets = nullptr, int64_t c_step = 0);
void gemm(const MatrixProduct<double>& product, int64_t batch = 1, const int64_t* a_offsets = nullptr,
          const int64_t* b_offsets = nullptr, int64_t c_step = 0);

/// While it lives, f32 products of this thread take our own kernel even where oneDNN is there: for tests and
/// benchmarks.
class OwnGemmScope {
 public:
  OwnGemmScope();
  ~OwnGemmScope();
  OwnGemmScope(const OwnGemmScope&) = delete;
  OwnGemmScope& operator=(const OwnGemmScope&) = delete;

 private:
  bool previous_;
};

}  // namespace headroom::engine
