// cuBLASLt's part under the emulator: the CPU's products.
#include "engine/cuda/blas.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "engine/cpu/gemm.h"
#include "tests/cuda/emulator/card.h"
#include "tests/cuda/emulator/vendor.h"

namespace headroom::engine::cuda {
namespace {

float rounded_to_tf32(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x0fffu + ((bits >> 13) & 1u)) & ~0x1fffu);
}
double rounded_to_tf32(double x) { return x; }

/// The stack as it is multiplied: matrices without gaps, one after the other.
template <class C, class T>
std::vector<C> packed(const void* data, int64_t batch, int64_t rows, int64_t columns, int64_t row, int64_t step,
                      bool tf32) {
  const auto* x = static_cast<const T*>(data);
  std::vector<C> out;
  out.reserve(static_cast<size_t>(batch * rows * columns));
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        const auto value = static_cast<C>(x[i * step + r * row + c]);
        out.push_back(tf32 ? rounded_to_tf32(value) : value);
      }
  return out;
}

/// T in memory, C in arithmetic, R of the result and a bias.
template <class T, class C, class R = T>
void multiply(const BlasProduct& p, const BlasOperands& o) {
  const bool tf32 = (context().tf32 || context().precision == Precision::bf16) && p.dtype == DType::f32;
  const int64_t a_rows = p.transpose_a ? p.k : p.m, a_columns = p.transpose_a ? p.m : p.k;
  const int64_t b_rows = p.transpose_b ? p.n : p.k, b_columns = p.transpose_b ? p.k : p.n;
  const std::vector<C> a = packed<C, T>(o.a, p.batch, a_rows, a_columns, p.row_a, p.step_a, tf32);
  const std::vector<C> b = packed<C, T>(o.b, p.batch, b_rows, b_columns, p.row_b, p.step_b, tf32);
  std::vector<C> y(static_cast<size_t>(p.batch * p.m * p.n)), bias;
  if (p.epilogue == BlasEpilogue::bias) bias = packed<C, R>(o.bias, 1, 1, p.n, p.n, 0, false);
  for (int64_t i = 0; i < p.batch; ++i)
    gemm(MatrixProduct<C>{p.m,
                          p.n,
                          p.k,
                          {a.data() + i * a_rows * a_columns, a_columns, p.transpose_a},
                          {b.data() + i * b_rows * b_columns, b_columns, p.transpose_b},
                          y.data() + i * p.m * p.n,
                          p.n,
                          bias.empty() ? nullptr : bias.data()});
  for (int64_t i = 0; i < p.batch; ++i)
    for (int64_t r = 0; r < p.m; ++r)
      for (int64_t c = 0; c < p.n; ++c) {
        const int64_t to = i * p.step_y + r * p.row_y + c;
        C sum = y[static_cast<size_t>((i * p.m + r) * p.n + c)];
        if (p.adds) sum += static_cast<C>(static_cast<const R*>(o.added)[to]);
        static_cast<R*>(o.y)[to] = static_cast<R>(sum);
      }
  if (p.epilogue != BlasEpilogue::bias_grad) return;
  for (int64_t r = 0; r < p.m; ++r) {
    C sum = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += a[static_cast<size_t>(p.transpose_a ? k * p.m + r : r * p.k + k)];
    static_cast<R*>(o.bias_grad)[r] = static_cast<R>(sum);
  }
}

}  // namespace

/// As cuBLASLt's, no epilogues in f64, none for stacks; and what the switch refuses.
bool blas_supports(const BlasProduct& product, const BlasOperands& o) {
  const bool has_epilogue = product.epilogue != BlasEpilogue::none;
  if (!is_wanted(product.epilogue, product.dtype)) return false;
  if (has_epilogue && (product.dtype == DType::f64 || product.batch != 1)) return false;
  if (has_epilogue && emulator::refuses("epilogues")) return false;
  if (emulator::refuses("heuristics")) return false;
  uintptr_t bits = 0;
  for (const void* address : {o.a, o.b, static_cast<const void*>(o.y), o.bias, static_cast<const void*>(o.bias_grad)})
    bits |= reinterpret_cast<uintptr_t>(address);
  for (const int64_t row : {product.row_a, product.row_b}) bits |= static_cast<uintptr_t>(row * size_of(product.dtype));
  bits |= static_cast<uintptr_t>(product.row_y * size_of(product.result));
  // In bf16 also the extents that lie along a row.
  if (product.dtype == DType::bf16) {
    bits |= static_cast<uintptr_t>(product.n * size_of(product.dtype));
    if (product.transpose_a) bits |= static_cast<uintptr_t>(product.m * size_of(product.dtype));
    if (!product.transpose_a || product.transpose_b) bits |= static_cast<uintptr_t>(product.k * size_of(product.dtype));
  }
  return bits % 16 == 0 || !emulator::refuses("alignments");
}

void blas_matmul(const BlasProduct& product, const BlasOperands& operands) {
  const BlasOperands& o = operands;
  for (const void* address :
       {o.a, o.b, static_cast<const void*>(o.y), o.bias, static_cast<const void*>(o.bias_grad), o.added})
    emulator::demand_device("blas_matmul", address);
  if (!blas_supports(product, operands)) return plain_product(product, operands);
  emulator::enqueue_here("blas_matmul", [product, operands] {
    if (product.dtype == DType::f64) return multiply<double, double>(product, operands);
    if (product.dtype == DType::f32) return multiply<float, float>(product, operands);
    product.result == DType::f32 ? multiply<bf16, float, float>(product, operands)
                                 : multiply<bf16, float>(product, operands);
  });
}

}  // namespace headroom::engine::cuda
