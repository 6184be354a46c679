#include "engine/ops/binary.h"

#include "engine/backend.h"
#include "engine/elementwise/elementwise.h"
#include "engine/elementwise/reference.h"
#include "engine/error.h"
#include "engine/ops/binary_functors.h"
#include "engine/ops/binary_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {

#define HEADROOM_DEFINE(NAME, FUNCTOR)                                                                       \
  namespace {                                                                                                \
  constexpr BinaryKernels NAME##_kernels{#NAME, kernel::NAME##_forward, binary_forward_loop<FUNCTOR, float>, \
                                         binary_forward_loop<FUNCTOR, double>};                              \
  }                                                                                                          \
  Tensor NAME(const Tensor& a, const Tensor& b) { return binary(NAME##_kernels, a, b); }
HEADROOM_BINARY_OPS(HEADROOM_DEFINE)
#undef HEADROOM_DEFINE

void add_inplace(const Tensor& y, const Tensor& x) {
  if (!y.defined() || y.shape() != x.shape() || y.dtype() != x.dtype() || !y.is_contiguous())
    fail("add_inplace: y {}, x {}", y.str(), x.str());
  if (!y.device().is_cpu()) return copy_inplace(y, add(y, x));
  const Tensor from = x.contiguous();
  y.bump_version();
  visit_real("add_inplace", y, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(y.numel(), int64_t{1} << 14, [&](int64_t begin, int64_t end) {
      T* to = y.mutable_data<T>() + begin;
      const T* add = from.data<T>() + begin;
      if constexpr (std::is_same_v<T, float>) kernel::add_forward(to, 1, add, 1, to, end - begin);
      else binary_forward_loop<Add, T>(to, 1, add, 1, to, end - begin);
    });
  });
}

}  // namespace headroom::engine
