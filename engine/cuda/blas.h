#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "engine/dtype.h"

// Products of matrices on the GPU: by cuBLASLt (blas.cu), and by the CPU's own under the emulator
// (tests/cuda/emulator).
namespace headroom::engine::cuda {

/// What is done to a product while it is still in registers.
enum class BlasEpilogue : uint8_t {
  none,
  bias,       ///< a bias (N) is added to each row of y
  bias_grad,  ///< beside y, Σ_k op(a)_mk (M): with a = dy transposed, a bias's gradient beside that of its weight
};

/// A stack of products y_i = op(a_i) · op(b_i) of row-major matrices, y (M, N), K ≥ 1 the inner size. A transposed a is
/// stored as (K, M), a transposed b as (N, K). Rows and steps are in elements: from one row of a matrix to the next,
/// and from one matrix of the stack to the next (step 0: the same matrix for every i).
struct BlasProduct {
  DType dtype;  ///< f32, f64, or bf16, which is added up in f32
  int64_t m, n, k, batch = 1;
  bool transpose_a = false, transpose_b = false;
  int64_t row_a, row_b, row_y;
  int64_t step_a = 0, step_b = 0, step_y = 0;
  BlasEpilogue epilogue = BlasEpilogue::none;
  bool adds = false;     ///< y = op(a) · op(b) + what lies at BlasOperands::added
  DType result = dtype;  ///< of y and of a bias or its gradient; may be f32 where dtype is bf16
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
  const void* added = nullptr;  ///< as y lies, in its dtype
};

/// Whether the library is to be asked for it at all: HEADROOM_EPILOGUES=on says yes to all, off to none. By default not
/// for the gradient of a bias in bf16, for which cuBLASLt launches a kernel of its own after the product, a slower one
/// than ours.
bool is_wanted(BlasEpilogue epilogue, DType dtype);

/// Whether the library has this product with its epilogue (f64 has none), and the epilogue is wanted.
bool blas_supports(const BlasProduct& product, const BlasOperands& operands);

/// For `headroom doctor`: which epilogues of a layer's products the library has, and which are kernels of our own.
std::string blas_epilogues();

/// Queues it on the context's stream. f32 is multiplied in f32, or in TF32 (10 bits of mantissa) where the context says
/// so, or has the operands of products rounded to bf16 (which TF32 holds exactly). The plan of each kind of product is
/// made once and kept. Scratch memory is a block of the context's pool, so work on other streams and replayed graphs
/// never share it. The same operands give the same bits at every call. A product that the library has no algorithm for
/// is left to plain_product().
void blas_matmul(const BlasProduct& product, const BlasOperands& operands);

/// The same, one result per thread, added up in order: slow, for any strides and alignment. A profile shows it as
/// "plain product". Throws Error where there is an epilogue.
void plain_product(const BlasProduct& product, const BlasOperands& operands);

}  // namespace headroom::engine::cuda
