#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/cuda/blas.h"
#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/profile.h"

namespace headroom::engine::cuda {
namespace {

/// One element of y, from operands of T to results of R.
template <class T, class R>
struct PlainProduct {
  BlasProduct p;
  const T *a, *b;
  R* y;
  const R* added;

  __device__ void operator()(int64_t i) const {
    const int64_t n = i % p.n, m = i / p.n % p.m, stack = i / p.n / p.m;
    const T* const row = a + stack * p.step_a + (p.transpose_a ? m : m * p.row_a);
    const T* const column = b + stack * p.step_b + (p.transpose_b ? n * p.row_b : n);
    const int64_t next_a = p.transpose_a ? p.row_a : 1, next_b = p.transpose_b ? 1 : p.row_b;
    Compute<T> sum = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += load(row[k * next_a]) * load(column[k * next_b]);
    const int64_t to = stack * p.step_y + m * p.row_y + n;
    if (added) sum += load(added[to]);
    store(y[to], sum);
  }
};

template <class T, class R>
void run(const BlasProduct& p, const BlasOperands& o) {
  launch("plain_product", p.batch * p.m * p.n,
         PlainProduct<T, R>{p, static_cast<const T*>(o.a), static_cast<const T*>(o.b), static_cast<R*>(o.y),
                            p.adds ? static_cast<const R*>(o.added) : nullptr});
}

}  // namespace

void plain_product(const BlasProduct& p, const BlasOperands& o) {
  if (p.epilogue != BlasEpilogue::none)
    device_failure("plain_product", __FILE__, __LINE__, "an epilogue that blas_supports() denies");
  const OpSpan span("plain product");
  if (p.dtype == DType::f64) return run<double, double>(p, o);
  if (p.dtype == DType::f32) return run<float, float>(p, o);
  p.result == DType::f32 ? run<bf16, float>(p, o) : run<bf16, bf16>(p, o);
}

bool is_wanted(BlasEpilogue epilogue, DType dtype) {
  static const std::string_view said = [] {
    const char* const value = std::getenv("HEADROOM_EPILOGUES");
    return std::string_view(value ? value : "");
  }();
  if (epilogue == BlasEpilogue::none || said == "on") return true;
  return said != "off" && !(epilogue == BlasEpilogue::bias_grad && dtype == DType::bf16);
}

std::string blas_epilogues() {
  // Nothing is read there: only the alignment counts.
  const auto address = [](uintptr_t page) { return reinterpret_cast<void*>(page << 12); };
  std::string inside, apart;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const BlasEpilogue epilogue : {BlasEpilogue::bias, BlasEpilogue::bias_grad}) {
      const bool is_grad = epilogue == BlasEpilogue::bias_grad;
      BlasProduct p = blas_product(dtype, 768, 768, 8192, is_grad, !is_grad, epilogue);
      if (is_grad) p.result = DType::f32;  // as the optimizer's gradients are
      const BlasOperands o{address(1), address(2), address(3), is_grad ? nullptr : address(4),
                           is_grad ? address(4) : nullptr};
      std::string& list = blas_supports(p, o) ? inside : apart;
      list += (list.empty() ? "" : ", ") + std::string(is_grad ? "bias gradient " : "bias ") + name_of(dtype);
    }
  const auto named = [](const std::string& list) { return list.empty() ? "none" : list; };
  return "in the product: " + named(inside) + "; by a kernel of its own: " + named(apart);
}

}  // namespace headroom::engine::cuda
