#include "engine/ops/dropout/dropout.h"

#include <algorithm>
#include <cmath>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/dropout/dropout_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
void dropout_loop(const T* x, T* y, int64_t begin, int64_t end, const RngKey& key, uint32_t threshold, T factor) {
  for (int64_t i = begin; i < end; ++i)
    y[i] = random_bits(key, static_cast<uint64_t>(i)) >= threshold ? x[i] * factor : 0;
}

}  // namespace

Tensor dropout(const Tensor& x_in, double p, const RngKey& key) {
  check_floating("dropout", {&x_in});
  require(p >= 0 && p < 1, "dropout: p = {} is not in [0, 1)", p);
  const uint64_t first = key.first();
  require(first % 4 == 0, "dropout: the key's offset {} is not a multiple of four", first);
  const Tensor x = x_in.contiguous();
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  const auto threshold = static_cast<uint32_t>(std::min(std::floor(p * 0x1p32 + 0.5), 0x1p32 - 1));
  const double factor = 1 / (1 - p);
  visit_real("dropout", x, [&](auto zero) {
    using T = decltype(zero);
    parallel_ranges(x.numel(), int64_t{1} << 14, [&](int64_t begin, int64_t end) {
      const T* from = x.data<T>();
      T* to = y.mutable_data<T>();
      if constexpr (std::is_same_v<T, float>)
        if (!reference_only())
          return kernel::dropout_run(from + begin, to + begin, end - begin, key.seed, key.stream,
                                     (first + static_cast<uint64_t>(begin)) / 4, threshold, float(factor));
      dropout_loop(from, to, begin, end, key, threshold, T(factor));
    });
  });
  return y;
}

}  // namespace headroom::engine
