#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "engine/dtype.h"

// Matrix products on the GPU: by cuBLASLt (blas.cu), or on the CPU under the emulator (tests/cuda/emulator).
namespace headroom::engine::cuda {

/// Extra work on a product while it is still in registers.
enum class BlasEpilogue : uint8_t {
  none,
  bias,       ///< a bias (N) is added to each row of y
  bias_grad,  ///< also computes Σ_k op(a)_mk (M): with a = dy transposed, a bias's gradient along with its weight's
};

/// A stack of products y_i = op(a_i) · op(b_i) of row-major matrices, y (M, N), K ≥ 1 the inner size. A transposed a is
/// stored as (K, M), a transposed b as (N, K). Row strides and steps are in elements; a step leads from one matrix of
/// the stack to the next (0: the same matrix for every i).
struct BlasProduct {
  DType dtype;  ///< f32, f64, or bf16, which accumulates in f32
  int64_t m, n, k, batch = 1;
  bool transpose_a = false, transpose_b = false;
  int64_t row_a, row_b, row_y;
  int64_t step_a = 0, step_b = 0, step_y = 0;
  BlasEpilogue epilogue = BlasEpilogue::none;
  bool adds = false;     ///< y = op(a) · op(b) + BlasOperands::added
  DType result = dtype;  ///< of y and of a bias or its gradient; may be f32 if dtype is bf16
  auto operator<=>(const BlasProduct&) const = default;
};

/// A product of contiguous matrices, one after the other.
inline BlasProduct blas_product(DType dtype, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                                BlasEpilogue epilogue = BlasEpilogue::none) {
  return {.dtype = dtype,
          .m = m,
          .n = n,
          .k = k,
          .transpose_a = transpose_a,
          .transpose_b = transpose_b,
          .row_a = transpose_a ? m : k,
          .row_b = transpose_b ? k : n,
          .row_y = n,
          .step_a = m * k,
          .step_b = k * n,
          .step_y = m * n,
          .epilogue = epilogue};
}

/// Addresses on the device.
struct BlasOperands {
  const void *a, *b;
  void* y;
  const void* bias = nullptr;   ///< (N), read by BlasEpilogue::bias
  void* bias_grad = nullptr;    ///< (M), written by BlasEpilogue::bias_grad
  const void* added = nullptr;  ///< laid out as y, in its dtype
};

/// True if we ask the library for this epilogue: HEADROOM_EPILOGUES=on asks for all, off for none. The default excludes
/// a bf16 bias gradient, for which cuBLASLt launches its own kernel after the product, slower than ours.
bool is_wanted(BlasEpilogue epilogue, DType dtype);

/// True if the library supports this product with its epilogue (f64 has none), and the epilogue is wanted.
bool blas_supports(const BlasProduct& product, const BlasOperands& operands);

/// For `headroom doctor`: the epilogues of a layer's products that the library has, and those that are our kernels.
std::string blas_epilogues();

/// Queues the product on the context's stream. f32 is multiplied in f32, or in TF32 (10 bits of mantissa) if the
/// context asks for it or rounds operands to bf16 (which TF32 holds exactly). Makes the plan of each kind of product
/// once. Scratch memory is a block of the context's pool, so other streams and replayed graphs never share it. Equal
/// operands give equal bits at every call. Leaves products without an algorithm in the library to plain_product().
void blas_matmul(const BlasProduct& product, const BlasOperands& operands);

/// The same, one result per thread, summed in order: slow, for any strides and alignment. Profiles show it as "plain
/// product". Throws Error if there is an epilogue.
void plain_product(const BlasProduct& product, const BlasOperands& operands);

}  // namespace headroom::engine::cuda
