#pragma once
#include "engine/tensor.h"
#include "models/config.h"

namespace headroom::models {

using engine::Tensor;

/// Sinusoids of amplitude 1 (Vaswani et al., 2017), sines and cosines interleaved: (length, width) with
///   p[t, 2i] = sin(t · 10000^(-2i/width)),   p[t, 2i+1] = cos(t · 10000^(-2i/width)).
Tensor sinusoids(int64_t length, int64_t width, engine::DType dtype);

/// 0, 1, …, length - 1 as i64 (length).
Tensor position_indices(int64_t length);

/// Logarithms of ALiBi's first slopes, one vector (heads) per group: geometric from `first` to `last` over the heads of
/// all groups in order; a single head takes their geometric mean.
std::vector<Tensor> alibi_log_slopes(const std::vector<HeadGroup>& groups, double first, double last,
                                     engine::DType dtype);

}  // namespace headroom::models
