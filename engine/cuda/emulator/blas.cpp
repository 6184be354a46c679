#include "engine/cuda/blas.h"

#include <vector>

#include "engine/context.h"
#include "engine/cpu/gemm.h"
#include "engine/cuda/check.h"
#include "engine/cuda/emulator/launch.h"

// What cuBLASLt does on a GPU, by the CPU's products.
namespace headroom::engine::cuda {
namespace {

template <class T>
void multiply(const BlasProduct& p, const T* a, const T* b, T* y) {
  std::vector<int64_t> a_offsets, b_offsets;
  for (int64_t i = 0; i < p.batch; ++i) {
    a_offsets.push_back(i * p.step_a);
    b_offsets.push_back(i * p.step_b);
  }
  gemm<T>({.m = p.m,
           .n = p.n,
           .k = p.k,
           .a = {a, p.transpose_a ? p.m : p.k, p.transpose_a},
           .b = {b, p.transpose_b ? p.k : p.n, p.transpose_b},
           .c = y,
           .ldc = p.n},
          p.batch, a_offsets.data(), b_offsets.data(), p.m * p.n);
}

}  // namespace

void blas_matmul(const BlasProduct& product, const void* a, const void* b, void* y) {
  const auto run = [=, how = context()] {
    const ContextScope scope(how);
    if (product.dtype == DType::f32)
      multiply(product, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(y));
    else multiply(product, static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(y));
  };
  check_launch("matmul", emulator::enqueue(static_cast<cudaStream_t>(context().stream), "matmul", run));
}

}  // namespace headroom::engine::cuda
