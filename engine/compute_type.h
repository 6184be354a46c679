#pragma once
#include <type_traits>

#include "engine/dtype.h"

namespace headroom::engine {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

/// The type that loops and kernels compute in: the tensor's own, except that halves use f32 and round the result once.
template <class T>
using Compute = std::conditional_t<is_half<T>, float, T>;

}  // namespace headroom::engine
