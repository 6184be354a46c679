#pragma once
#include <cstdint>
#include <vector>

#include "engine/rng.h"
#include "engine/tensor.h"
#include "tasks/language/token_cache.h"

namespace headroom::tasks {

/// Random starts of `sequences` windows of `width` tokens within `available` ones, from the stream "data".
std::vector<int64_t> random_windows(int64_t available, int64_t width, int64_t sequences, engine::Rng& rng);

/// Evenly spread starts of at most `sequences` windows over `available` tokens, at least `length` apart: no position is
/// scored twice. A window reads `width` ≥ `length` tokens.
std::vector<int64_t> even_windows(int64_t available, int64_t width, int64_t length, int64_t sequences);

/// tokens[start + shift … start + shift + length) of each window: i64 (B, T).
engine::Tensor gather_windows(TokenSpan tokens, const std::vector<int64_t>& starts, int64_t shift, int64_t length);

}  // namespace headroom::tasks
