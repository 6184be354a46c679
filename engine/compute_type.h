#pragma once
#include <type_traits>

#include "engine/dtype.h"

namespace headroom::engine {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, bf16> || std::is_same_v<T, f16>;

/// What loops and kernels compute in: the dtype that they read and write, but f32 for the halves, whose results are
/// rounded once.
template <class T>
using Compute = std::conditional_t<is_half<T>, float, T>;

}  // namespace headroom::engine
