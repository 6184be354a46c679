#pragma once
#include <limits>
#include <type_traits>

#include "engine/compute_type.h"

namespace headroom::engine {

/// Converts an element from one dtype to another. Floating to integer drops the fraction, saturates at the type's
/// limits and turns NaN into 0: C++ leaves those cases undefined.
template <class To, class From>
HEADROOM_HD inline To convert(From x) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return To(0);
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    if (x >= static_cast<From>(Limits::max())) return Limits::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace headroom::engine
