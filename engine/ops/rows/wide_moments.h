#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "engine/host_device.h"

namespace headroom::engine {

/// The mean, 0 unless `centred`, and 1/√(mean (x - mean)² + eps) of a row of n ≥ 1 elements, in `Wide`: for rows whose
/// squares leave T's range. `static`, because files of different instruction sets use it.
template <class Wide, class T>
static inline void wide_moments(const T* x, int64_t n, T eps, bool centred, T& mean, T& inverse) {
  const Wide width = static_cast<Wide>(n);
  Wide total = 0, squares = 0;
  if (centred)
    for (int64_t i = 0; i < n; ++i) total += static_cast<Wide>(x[i]);
  const Wide m = total / width;
  for (int64_t i = 0; i < n; ++i) {
    const Wide d = static_cast<Wide>(x[i]) - m;
    squares += d * d;
  }
  mean = static_cast<T>(m);
  inverse = static_cast<T>(1 / std::sqrt(squares / width + static_cast<Wide>(eps)));
}

/// f64 for f32; for f64 the compiler's next wider type.
template <class T>
using WiderThan = std::conditional_t<sizeof(T) == 4, double, long double>;

/// True if a mean square, with eps added, came from squares that kept their digits.
template <class T>
HEADROOM_HD static inline bool moments_are_safe(T mean_square) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-900), most = sizeof(T) == 4 ? T(0x1p+120) : T(0x1p+1000);
  return mean_square > least && mean_square < most;  // false for NaN
}

}  // namespace headroom::engine
